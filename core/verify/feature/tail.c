// SPDX-License-Identifier: MIT
/*
 * Tail calls. The target is a program of the same image. It is verified on its
 * own, with a fresh context pointer and nothing else, so the walk does not
 * enter it. This file checks what that verification assumes:
 *
 * The target never returns into the function that made the call. That function
 * must hold nothing, because nobody would release it, and no helper may be
 * calling back. The target may return to that function's caller, as if the
 * function had returned any number. It cannot reach the memory of callers.
 * Frames need no rule: at run time, a call without enough frames left falls
 * through (core/exec).
 *
 * Coherence. The target writes outputs and returns a verdict. Its own
 * verification shows that both are the same on all ranks *if* all ranks run it
 * at the same point. So whether a program runs, and which, must be coherent:
 * the index, the array, the context pointer, and the path to the call. Programs
 * cannot change an array; it is coherent if its tag says that it changes at
 * fences. The remainder of each budget must be coherent too if a target spends
 * from it, because targets inherit it. Under local control every tail call is
 * refused, since its targets are not known. The verdict and the outputs are
 * then those of a coherent program, and a caller gets a coherent number.
 */
#include "core/verify/feature/tail.h"

#include "core/verify/access/access.h"
#include "core/verify/access/refs.h"
#include "core/verify/feature/call.h"
#include "core/verify/state/budget.h"

static int check_coherent(const struct at *a)
{
	struct nb_env *env = a->env;
	const struct nb_map_spec *m = &env->img->maps[reg(a, 2)->map];
	uint8_t spent = nb_budget_local(a->st, env->budget.of_targets);

	if (!(m->tags & NB_MAPF_COHERENT))
		env->found.saw_local = true;
	if (!env->labels)
		return 0;
	if (a->st->region.open)
		return refuse(a, NB_RULE_TAIL_CONTROL, .reg = -1,
			      .where = a->st->region.pc);
	for (int i = 1; i <= 3; i++)
		if (reg(a, i)->label == NB_LABEL_LOCAL)
			return refuse(a, NB_RULE_TAIL_LOCAL, .reg = i,
				      .where = reg(a, i)->from);
	if (spent)
		return refuse(
			a,
			spent & NB_BUDGET_PASSES ? NB_RULE_TAIL_PASSES
						 : NB_RULE_TAIL_ITERATIONS,
			.reg = -1, .where = nb_budget_local_from(a->st, spent));
	if (m->tags & NB_MAPF_COHERENT)
		return 0;
	return refuse(a, NB_RULE_TAIL_MAP, .reg = 2, .map = reg(a, 2)->map);
}

/* Check that no reference is held. The kernel demands the same, although a
 * caller could release it. */
static int check_nothing_held(const struct at *a)
{
	if (!a->st->nrefs)
		return 0;
	return refuse(a, NB_RULE_TAIL_HELD, .reg = -1, .ref = &a->st->refs[0]);
}

int nb_check_tail_place(const struct at *a)
{
	int rc = check_nothing_held(a);

	if (rc)
		return rc;
	for (uint32_t i = 0; i < a->st->nframes; i++)
		if (a->st->frames[i].callback)
			return refuse(a, NB_RULE_TAIL_CALLBACK, .reg = -1,
				      .where = a->st->frames[i].ret - 1);
	return 0;
}

int nb_check_tail_call(const struct at *a)
{
	int rc = nb_check_tail_place(a);

	return rc ? rc : check_coherent(a);
}

void nb_tail_return(struct nb_env *env, struct nb_state *st, uint32_t pc)
{
	nb_top(st)->regs[0] = nb_reg_scalar(nb_range_unknown());
	nb_call_leave(env, st);
	nb_budget_spend_tail(env, st, pc);
}
