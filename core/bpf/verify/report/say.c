// SPDX-License-Identifier: MIT
/*
 * Texts of findings. Maps, source locations, instructions, functions and registers
 * are described here, so that all messages use the same terms, offline and in the
 * job.
 */
#include "core/bpf/verify/report/say.h"

#include <inttypes.h>
#include <string.h>

#include "core/bpf/verify/report/format.h"
#include "core/bpf/verify/report/names.h"

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

const struct nb_line *nb_line_of(const struct nb_prog *p, uint32_t pc)
{
	const struct nb_line *l = nb_prog_line(p, pc);

	return l && l->line ? l : NULL;
}

bool nb_line_is_header(const struct nb_line *l)
{
	return l && (!strcmp(nb_base_name(l->file), "ncclbpf_policy.h") ||
		     !strcmp(nb_base_name(l->file), "ncclbpf_math.h"));
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

static const char *say_number(struct nb_env *env, const struct nb_range *r)
{
	uint64_t any = r->t.value | r->t.mask;
	const char *step = "";

	if (nb_range_is_const(r))
		return nb_say(env, "number %" PRId64, r->smin);
	if (nb_range_is_unknown(r))
		return "number, nothing known";
	if (!r->umin && r->umax == UINT32_MAX && any == UINT32_MAX)
		return "any number of 32 bits";
	if (any && !(any & 1))
		step = nb_say(env, ", a multiple of %" PRIu64, any & -any);
	if (r->smin >= 0)
		return nb_say(env, "number %" PRIu64 " to %" PRIu64 "%s", r->umin, r->umax, step);
	if (r->umin > 0 && r->smin == INT64_MIN)
		return nb_say(env, "number %" PRIu64 " to %" PRIu64 " unsigned%s", r->umin, r->umax,
			      step);
	if (r->smin > INT64_MIN || r->smax < INT64_MAX)
		return nb_say(env, "number %s, signed%s", nb_say_span(env, r->smin, r->smax), step);
	if (r->umin32 || r->umax32 != UINT32_MAX)
		return nb_say(env, "number, low half %u to %u, high half unknown", r->umin32,
			      r->umax32);
	return nb_say(env, "number, unknown%s", step);
}

static const char *say_pointer(struct nb_env *env, const struct nb_reg *r, const char *span)
{
	const char *name = nb_map_name(env, r->map);
	const char *type = nb_say_type(env, r->map, NB_NAME_VALUE);
	const char *place = nb_say_place(env, r, &r->r);

	if (*name == '.')
		return nb_say(env, "pointer into %s, offset %s%s%s", name, span, *place ? ": " : "",
			      place);
	return nb_say(env, "pointer to a value of map %s (%s%s%u bytes), offset %s", name, type,
		      *type ? ", " : "", env->program.img->maps[r->map].value_size, span);
}

static const char *say_reg_value(struct nb_env *env, const struct nb_reg *r)
{
	const char *span = nb_say_span(env, r->r.smin, r->r.smax);

	switch ((enum nb_reg_kind)r->kind) {
	case NB_REG_UNINIT:
		return "never written";
	case NB_REG_SCALAR:
		return say_number(env, &r->r);
	case NB_REG_CTX:
		return nb_say(env, "pointer to the context, offset %s", span);
	case NB_REG_STACK:
		return nb_say(env, "pointer to the stack of frame %d, offset %s", r->frame, span);
	case NB_REG_MAP:
		return nb_say(env, "map %s", nb_map_name(env, r->map));
	case NB_REG_VALUE:
		return say_pointer(env, r, span);
	case NB_REG_VALUE_OR_NULL:
		return nb_say(env, "pointer to a value of map %s, or NULL",
			      nb_map_name(env, r->map));
	case NB_REG_MEM:
		return nb_say(env, "pointer to memory (%u bytes), offset %s", r->size, span);
	case NB_REG_RDONLY:
		return nb_say(env, "pointer to memory (%u bytes) that is only read, offset %s",
			      r->size, span);
	case NB_REG_MEM_OR_NULL:
		return nb_say(env, "pointer to memory (%u bytes), or NULL", r->size);
	case NB_REG_FUNC:
		return nb_say(env, "address of the function at slot %u", r->map);
	}
	return "";
}

const char *nb_say_reg(struct nb_env *env, const struct nb_reg *r, int number)
{
	const char *label = r->label == NB_LABEL_LOCAL ? ", local data" : "";

	if (number < 0)
		return nb_say(env, "%s%s", say_reg_value(env, r), label);
	return nb_say(env, "r%d: %s%s", number, say_reg_value(env, r), label);
}

const char *nb_say_ref(struct nb_env *env, const struct nb_ref *ref)
{
	return nb_say(env, "%s at %s", ref->kind == NB_REF_ITER ? "begun" : "reserved",
		      nb_say_where(env, ref->pc));
}

void nb_more_words(struct nb_env *env)
{
	if (env->program.arena->limit - env->program.arena->used < MARGIN)
		env->program.arena->limit = env->program.arena->used + MARGIN;
}
