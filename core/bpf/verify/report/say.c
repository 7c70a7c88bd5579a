// SPDX-License-Identifier: MIT
/*
 * Texts of findings. Maps, source locations, instructions and functions are
 * described here, so that all messages use the same terms, offline and in the
 * job.
 */
#include "core/bpf/verify/report/say.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { MARGIN = 64 << 10 };

static const struct nb_finding_words classes[NB_NFINDINGS] = {
	[NB_FIND_NONE] = { "none", "" },
#define RULE(name, word, text, required, known, hint) [NB_FIND_##name] = { word, text },
#include "core/defs/rules.h"
};

const struct nb_finding_words *nb_finding_words(enum nb_finding_class cls)
{
	return &classes[cls];
}

const char *nb_say(struct nb_env *env, const char *fmt, ...)
{
	char text[600];
	const char *p;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	p = nb_arena_str(env->program.arena, text, sizeof(text));
	return p ? p : "";
}

const char *nb_map_name(const struct nb_env *env, uint32_t map)
{
	return map < env->program.img->nmaps && env->program.img->maps[map].name
		       ? env->program.img->maps[map].name
		       : "?";
}

const char *nb_say_span(struct nb_env *env, int64_t min, int64_t max)
{
	if (min == max)
		return nb_say(env, "%" PRId64, min);
	if (min == INT64_MIN && max == INT64_MAX)
		return "anything";
	if (min == INT64_MIN)
		return nb_say(env, "anything up to %" PRId64, max);
	if (max == INT64_MAX)
		return nb_say(env, "%" PRId64 " or more", min);
	return nb_say(env, "%" PRId64 " to %" PRId64, min, max);
}

const char *nb_base_name(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	return slash ? slash + 1 : path ? path : "";
}

/* Return the line record that covers @pc; images of tests have none. */
const struct nb_line *nb_line_of(const struct nb_prog *p, uint32_t pc)
{
	const struct nb_line *found = NULL;

	for (uint32_t i = 0; i < p->nlines && p->lines[i].pc <= pc; i++)
		found = &p->lines[i];
	return found && found->line ? found : NULL;
}

const char *nb_say_where(struct nb_env *env, uint32_t pc)
{
	const struct nb_line *l = nb_line_of(env->program.prog, pc);

	if (!l)
		return nb_say(env, "slot %u", pc);
	return nb_say(env, "slot %u (%s:%u)", pc, nb_base_name(l->file), l->line);
}

static const char *map_name_cb(void *arg, uint32_t index)
{
	return nb_map_name(arg, index);
}

const char *nb_say_insn(struct nb_env *env, uint32_t pc)
{
	char text[160];

	if (!env->program.insns || pc >= env->program.n)
		return "";
	nb_disasm(text, sizeof(text), &env->program.insns[pc], map_name_cb, env);
	return nb_say(env, "%s", text);
}

const char *nb_say_func(struct nb_env *env, uint32_t pc)
{
	const char *name = env->program.prog->name;

	if (env->program.cfg.func_of && pc < env->program.n && env->program.cfg.funcs)
		name = env->program.cfg.funcs[env->program.cfg.func_of[pc]].name;
	return name ? name : "";
}

void nb_more_words(struct nb_env *env)
{
	if (env->program.arena->limit - env->program.arena->used < MARGIN)
		env->program.arena->limit = env->program.arena->used + MARGIN;
}
