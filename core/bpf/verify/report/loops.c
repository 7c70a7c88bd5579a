// SPDX-License-Identifier: MIT
/*
 * Find loops as a reader of the source sees them, for messages: a jump
 * back, and the slots between the jump and its target. The engine does not
 * use this.
 */
#include "core/bpf/verify/report/loops.h"

#include <string.h>

#include "core/bpf/verify/report/report.h"

struct nb_loop nb_loop_at(const struct nb_env *env, uint32_t pc)
{
	struct nb_loop best = { pc, pc, false };

	for (uint32_t at = pc; at < env->program.n; at++) {
		int64_t to = nb_insn_target(&env->program.insns[at], at);

		if (!(env->program.insns[at].traits & NB_INSN_JUMP) || to < 0 || to > pc)
			continue;
		if (!best.found || at - to < best.last - best.head)
			best = (struct nb_loop){ (uint32_t)to, at, true };
	}
	return best;
}

static bool leaves(const struct nb_env *env, const struct nb_loop *loop, uint32_t pc)
{
	const struct nb_insn *in = &env->program.insns[pc];
	int64_t to = nb_insn_target(in, pc);

	if (in->kind == NB_KIND_EXIT)
		return true;
	if (!(in->traits & NB_INSN_JUMP))
		return false;
	return to < loop->head || to > loop->last || (pc == loop->last && in->kind != NB_KIND_JA);
}

const char *nb_say_exit(struct nb_env *env, uint32_t pc)
{
	struct nb_loop loop = nb_loop_at(env, pc);
	const struct nb_line *l;

	if (!loop.found)
		return "";
	for (pc = loop.head; pc <= loop.last; pc++)
		if (leaves(env, &loop, pc))
			break;
	if (pc > loop.last)
		return "; the loop has no exit";
	l = nb_line_of(env->program.prog, pc);
	if (!l || !l->text || !*l->text)
		return nb_say(env, "; it ends by slot %u: %s", pc, nb_say_insn(env, pc));
	return nb_say(env, "; it ends by line %u: %s", l->line, l->text + strspn(l->text, " \t"));
}
