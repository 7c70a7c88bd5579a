// SPDX-License-Identifier: MIT
/*
 * Compute words of findings about an access that leaves its memory, or about
 * stack bytes that were never written. A hint names a number or a variable
 * only if it is certain to be right.
 */
#include "core/verify/report/hints.h"

#include <string.h>

#include "core/verify/report/names.h"
#include "core/verify/report/say.h"
#include "core/verify/report/source.h"
#include "core/verify/state/operands.h"

typedef unsigned long long ull;

/* Return the granularity of a variable offset: the size of the elements
 * that it indexes. */
static uint64_t stride(const struct nb_range *off)
{
	return off->t.mask ? off->t.mask & -off->t.mask : 0;
}

static const struct nb_reg *reg_of(const struct nb_refusal *x)
{
	return &x->st->frames[x->st->nframes - 1].regs[x->reg];
}

static const char *index_text(struct nb_env *env, uint32_t pc)
{
	const char *text = nb_source_index(env, pc);

	return text ? text : "index";
}

static const char *before_line(struct nb_env *env, uint32_t pc)
{
	const struct nb_line *l = nb_line_of(env->prog, pc);

	return l ? nb_say(env, "before line %u add: ", l->line) : "add: ";
}

/* Return the number of elements that an index of the access may select; 0
 * if not certain. */
static uint64_t elements(const struct nb_member *m, const struct nb_range *off,
			 uint64_t size, uint64_t limit)
{
	uint64_t step = stride(off);

	if (m->array)
		return m->array->size / m->array->elem;
	/* The member is not an array, so no index is valid. */
	if (m->last && m->last->level)
		return 0;
	if (!step || size > limit || off->smin < 0 ||
	    (uint64_t)off->smin >= step)
		return 0;
	return (limit - size - (uint64_t)off->smin) / step + 1;
}

/* Return the member of a map's value that the access hits, or that it lies
 * behind. */
static struct nb_member accessed(struct nb_env *env, const struct nb_refusal *x)
{
	const struct nb_reg *r = reg_of(x);
	uint64_t lo = (uint64_t)x->off->smin;

	if (r->kind == NB_REG_VALUE && x->off->smin >= 0 && lo < x->limit)
		return nb_member_at(env, r->map, NB_NAME_VALUE, lo,
				    (uint64_t)x->off->smax);
	if (r->kind == NB_REG_VALUE && nb_range_is_const(x->off) &&
	    x->off->smin >= 0 && nb_source_index(env, x->pc))
		return nb_member_beyond(env, r->map, NB_NAME_VALUE, lo);
	return (struct nb_member){ .text = "" };
}

/* Return the hint for an access past the end of a map's value. */
static const char *size_hint(struct nb_env *env, const struct nb_refusal *x)
{
	const struct nb_reg *r = reg_of(x);
	const char *name;

	if (r->kind != NB_REG_VALUE)
		return "this is past the end of the value";
	name = nb_map_name(env, r->map);
	if (*name == '.') /* The map is a section of the object file. */
		return "this is past the end of the variables";
	return nb_say(
		env,
		"stay within the %llu bytes, or define map %s with the larger type: "
		"__type(value, ...)",
		(ull)x->limit, name);
}

/* Return the hint for a constant offset that is outside, in terms of the
 * indexed array. */
static const char *outside_hint(struct nb_env *env, const struct nb_refusal *x,
				const struct nb_member *m)
{
	uint32_t n;

	if (x->off->smin < 0)
		return "this is in front of the value";
	if (!m->array)
		return size_hint(env, x);
	n = m->array->size / m->array->elem;
	return nb_say(env, "the last element is [%u]: let %s stay below %u",
		      n - 1, index_text(env, x->pc), n);
}

const char *nb_say_bound(struct nb_env *env, const struct nb_refusal *x)
{
	struct nb_member m = accessed(env, x);
	const char *index = index_text(env, x->pc);
	uint64_t n = elements(&m, x->off, x->size, x->limit);

	if (nb_range_is_const(x->off))
		return outside_hint(env, x, &m);
	if (x->off->smin < 0)
		return nb_say(
			env,
			"%s may be negative: give it an unsigned type, or test it too: "
			"if (%s < 0) return 0;",
			index, index);
	if (!n)
		return "";
	return nb_say(env,
		      strpbrk(index, "&%+ ") ? "%sif ((%s) >= %llu) return 0;"
					     : "%sif (%s >= %llu) return 0;",
		      before_line(env, x->pc), index, (ull)n);
}

const char *nb_say_memory(struct nb_env *env, const struct nb_refusal *x)
{
	const struct nb_reg *r = reg_of(x);
	const char *name, *type;

	if (r->kind == NB_REG_MEM && r->ref)
		return nb_say(env, "the record of %llu bytes reserved at %s",
			      (ull)x->limit, nb_say_where(env, r->from));
	if (r->kind != NB_REG_VALUE)
		return nb_say(env, "the %llu bytes of memory", (ull)x->limit);
	name = nb_map_name(env, r->map);
	type = nb_say_type(env, r->map, NB_NAME_VALUE);
	/* The map is a section of the object file: its members are C
	 * variables. */
	if (*name == '.')
		return nb_say(env, "the %llu bytes of variables in %s",
			      (ull)x->limit, name);
	return nb_say(env, "the value of map %s (%s%s%llu bytes)", name, type,
		      *type ? ", " : "", (ull)x->limit);
}

const char *nb_say_access(struct nb_env *env, const struct nb_refusal *x)
{
	struct nb_member m = accessed(env, x);
	const char *at = nb_say(env, "%llu byte%s at offset %s", (ull)x->size,
				x->size == 1 ? "" : "s",
				nb_say_span(env, x->off->smin, x->off->smax));

	if (m.array)
		return nb_say(env, "%s: %s, but there are %u elements", at,
			      *m.text ? m.text : m.array->name,
			      m.array->size / m.array->elem);
	if (*m.text)
		return nb_say(env, "%s: from %s on (%u bytes)", at, m.text,
			      m.last->size);
	return at;
}

const char *nb_say_variable(struct nb_env *env, const struct nb_refusal *x)
{
	const char *name = nb_source_argument(env, x->pc, x->reg);

	return *name ? name : nb_say(env, "what r%d points to", x->reg);
}

const char *nb_say_declared(struct nb_env *env, const struct nb_refusal *x)
{
	const char *name = nb_source_argument(env, x->pc, x->reg);

	return *name ? name : "k";
}

const char *nb_say_missing(struct nb_env *env, const struct nb_refusal *x)
{
	if (x->number == x->to)
		return nb_say(env, "byte %lld", (long long)x->number);
	return nb_say(env, "bytes %lld to %lld", (long long)x->number,
		      (long long)x->to);
}

static struct nb_member missing(struct nb_env *env, const struct nb_refusal *x)
{
	uint64_t at = (uint64_t)x->number;

	return nb_member_at(env, x->map, x->part, at, at);
}

const char *nb_say_member(struct nb_env *env, const struct nb_refusal *x)
{
	const char *name = missing(env, x).text;

	return *name ? nb_say(env, ", from member %s on", name) : "";
}

const char *nb_say_too_small(struct nb_env *env, const struct nb_refusal *x)
{
	const char *name = nb_source_argument(env, x->pc, x->reg);
	const char *type = nb_say_type(env, x->map, x->part);

	/* Only the first bytes were written, so the variable may be too
	 * short. */
	if (!x->number || x->to + 1 != (int64_t)x->size ||
	    *missing(env, x).text)
		return "";
	return nb_say(
		env,
		"the %s is %llu bytes and only the first %lld %s written: is %s%s%s?",
		x->part == NB_NAME_KEY ? "key" : "value", (ull)x->size,
		(long long)x->number, x->number == 1 ? "is" : "are",
		*name ? name : "the variable",
		*type ? " a " : " as long as that", type);
}
