// SPDX-License-Identifier: MIT
// Refusals whose advice has to be computed: an access that leaves its memory,
// bytes of the stack that nobody wrote. A number or a name stands in a hint
// only where it is certain to be the right one.
#include "core/verify/report/hints.h"

#include <string.h>

#include "core/verify/report/names.h"
#include "core/verify/report/report.h"
#include "core/verify/state/operands.h"

typedef unsigned long long ull;

/* ---- outside a value ---- */

/* Granularity of a variable offset: the size of the elements indexed. */
static uint64_t stride(const struct nb_range *off)
{
	return off->t.mask ? off->t.mask & -off->t.mask : 0;
}

/* May @text stand in a condition? No call, no assignment, one expression. */
static bool plain(const char *text, size_t n)
{
	static const char ok[] = "abcdefghijklmnopqrstuvwxyz"
				 "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.->&%+ ";

	if (!n || n > 40 || strspn(text, ok) < n)
		return false;
	for (size_t i = 0; i + 1 < n; i++)
		if ((text[i] == '+' && text[i + 1] == '+') ||
		    (text[i] == '-' && text[i + 1] == '-'))
			return false;
	return text[0] < '0' || text[0] > '9';
}

/* What stands between the only brackets of @text; NULL: no such thing. */
static const char *between(struct nb_env *env, const char *text)
{
	const char *open = strchr(text, '[');
	const char *close = open ? strchr(open, ']') : NULL;

	if (!close || strchr(open + 1, '[') ||
	    !plain(open + 1, (size_t)(close - open - 1)))
		return NULL;
	return nb_say(env, "%.*s", (int)(close - open - 1), open + 1);
}

/* The index of the access at @pc as the source has it; NULL: it has none. */
static const char *indexed(struct nb_env *env, uint32_t pc)
{
	const struct nb_line *l = nb_line_of(env->prog, pc);
	const char *text = NULL;

	if (l && l->text && l->col && strlen(l->text) >= l->col)
		text = between(env, l->text + l->col - 1);
	if (!text && l && l->text)
		text = between(env, l->text);
	return text;
}

static const char *index_text(struct nb_env *env, uint32_t pc)
{
	const char *text = indexed(env, pc);

	return text ? text : "index";
}

static const char *before_line(struct nb_env *env, uint32_t pc)
{
	const struct nb_line *l = nb_line_of(env->prog, pc);

	return l ? nb_say(env, "before line %u add: ", l->line) : "add: ";
}

/* Number of elements that an index of the access may have; 0: not certain. */
static uint64_t elements(const struct nb_member *m, const struct nb_range *off,
			 uint64_t size, uint64_t limit)
{
	uint64_t step = stride(off);

	if (m->array)
		return m->array->size / m->array->elem;
	if (m->last && m->last->level) /* not an array: no index is right */
		return 0;
	if (!step || size > limit || off->smin < 0 ||
	    (uint64_t)off->smin >= step)
		return 0;
	return (limit - size - (uint64_t)off->smin) / step + 1;
}

/* A constant offset is outside: where, and in terms of the array indexed. */
static const char *outside_hint(struct nb_env *env, uint32_t pc,
				const struct nb_member *m,
				const struct nb_range *off)
{
	if (off->smin < 0)
		return "this is in front of the value";
	if (!m->array)
		return "this is past the end of the value";
	return nb_say(env, "the last element is [%llu]: let %s stay below %llu",
		      (ull)(m->array->size / m->array->elem - 1),
		      index_text(env, pc),
		      (ull)(m->array->size / m->array->elem));
}

static const char *span_hint(struct nb_env *env, uint32_t pc,
			     const struct nb_member *m,
			     const struct nb_range *off, uint64_t size,
			     uint64_t limit)
{
	const char *index = index_text(env, pc);
	uint64_t n = elements(m, off, size, limit);

	if (nb_range_is_const(off))
		return outside_hint(env, pc, m, off);
	if (off->smin < 0)
		return nb_say(env,
			      "%s may be negative: give it an unsigned type, "
			      "or test it too: if (%s < 0) return 0;",
			      index, index);
	if (!n)
		return "";
	return nb_say(env,
		      strpbrk(index, "&%+ ") ? "%sif ((%s) >= %llu) return 0;"
					     : "%sif (%s >= %llu) return 0;",
		      before_line(env, pc), index, (ull)n);
}

/* "map rows's value (struct row, 16 bytes)" */
static const char *whose(struct nb_env *env, const struct nb_reg *r,
			 uint64_t limit)
{
	const char *name, *type;

	if (r->kind == NB_REG_MEM && r->ref)
		return nb_say(env, "the %llu bytes asked for at %s", (ull)limit,
			      nb_say_where(env, r->from));
	if (r->kind != NB_REG_VALUE)
		return nb_say(env, "the %llu bytes of memory", (ull)limit);
	name = nb_map_name(env, r->map);
	type = nb_say_type(env, r->map, NB_NAME_VALUE);
	if (*name == '.') /* a section: in C these are variables */
		return nb_say(env, "the %llu bytes of variables in %s",
			      (ull)limit, name);
	return nb_say(env, "the value of map %s (%s%s%llu bytes)", name, type,
		      *type ? ", " : "", (ull)limit);
}

/* What the access is at, with the names there are. */
static const char *span_known(struct nb_env *env, const struct nb_member *m,
			      const struct nb_range *off, uint64_t size)
{
	const char *at = nb_say(env, "%llu byte%s at offset %s", (ull)size,
				size == 1 ? "" : "s",
				nb_say_span(env, off->smin, off->smax));

	if (m->array)
		return nb_say(env, "%s: %s, but there are %u elements", at,
			      *m->text ? m->text : m->array->name,
			      m->array->size / m->array->elem);
	if (*m->text)
		return nb_say(env, "%s: from %s on (%u bytes)", at, m->text,
			      m->last->size);
	return at;
}

int nb_refuse_span(struct nb_env *env, uint32_t pc, int number,
		   const struct nb_reg *r, const struct nb_range *off,
		   uint64_t size, uint64_t limit)
{
	bool map = r->kind == NB_REG_VALUE;
	struct nb_member m = { "", NULL, NULL, false };
	const char *where = whose(env, r, limit);

	if (map && off->smin >= 0 && (uint64_t)off->smin < limit)
		m = nb_member_at(env, r->map, NB_NAME_VALUE,
				 (uint64_t)off->smin, (uint64_t)off->smax);
	else if (map && nb_range_is_const(off) && off->smin >= 0 &&
		 indexed(env, pc))
		m = nb_member_beyond(env, r->map, NB_NAME_VALUE,
				     (uint64_t)off->smin);
	return nb_refuse(
		env, map ? NB_FIND_MAP_BOUNDS : NB_FIND_MEM_BOUNDS, pc, number,
		size > limit ? nb_say(env, "at most all of %s", where)
			     : nb_say(env,
				      "%llu byte%s within %s: offset 0 to "
				      "%llu",
				      (ull)size, size == 1 ? "" : "s", where,
				      (ull)(limit - size)),
		span_known(env, &m, off, size),
		span_hint(env, pc, &m, off, size, limit));
}

/* ---- never written ---- */

/* Which of the helper's keys or values register @number points to. */
static bool argument(struct nb_env *env, const struct nb_state *st, uint32_t pc,
		     int number, uint32_t *map, enum nb_name_part *part)
{
	const struct nb_insn *in = &env->insns[pc];
	const struct nb_map_spec *m;
	const struct nb_helper_spec *h;

	if (in->kind != NB_KIND_CALL || in->fn != NB_FN_HELPER || number < 1)
		return false;
	h = nb_spec_helper((int32_t)in->imm);
	m = h ? nb_helper_map(env, st, h) : NULL;
	if (!m || (h->arg[number - 1] != NB_ARG_KEY &&
		   h->arg[number - 1] != NB_ARG_VALUE))
		return false;
	*map = (uint32_t)(m - env->img->maps);
	*part = h->arg[number - 1] == NB_ARG_KEY ? NB_NAME_KEY : NB_NAME_VALUE;
	return true;
}

/* "k" of "bpf_map_lookup_elem(&m, &k)": the variable whose address argument
 * @number of the call at @pc is, where its line says so; else "". */
static const char *variable(struct nb_env *env, uint32_t pc, int number)
{
	const struct nb_line *l = nb_line_of(env->prog, pc);
	const char *at = l && l->text ? strstr(l->text, "bpf_") : NULL;
	size_t n;

	if (!at || strstr(at + 1, "bpf_") || !(at = strchr(at, '(')))
		return "";
	for (at++; --number > 0; at++) {
		at += strcspn(at, ",()");
		if (*at != ',')
			return "";
	}
	at += strspn(at, " \t");
	if (*at++ != '&')
		return "";
	n = strspn(at, "abcdefghijklmnopqrstuvwxyz"
		       "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
	return n && (at[n] == ',' || at[n] == ')')
		       ? nb_say(env, "%.*s", (int)n, at)
		       : "";
}

/* A key or value of @size bytes at @off, where a frame has @left. */
static int refuse_short(struct nb_env *env, uint32_t pc, int number,
			uint32_t map, enum nb_name_part part, uint64_t size,
			uint64_t left)
{
	const char *what = part == NB_NAME_KEY ? "key" : "value";
	const char *type = nb_say_type(env, map, part);
	const char *name = variable(env, pc, number);

	return nb_refuse(
		env, NB_FIND_STACK_BOUNDS, pc, number,
		nb_say(env, "%s of map %s is %llu bytes%s%s%s", what,
		       nb_map_name(env, map), (ull)size, *type ? " (" : "",
		       type, *type ? ")" : ""),
		nb_say(env,
		       "%s%s has at most %llu byte%s: r%d points to r10-%llu, "
		       "and the frame ends at r10",
		       *name ? name : "what r",
		       *name ? "" : nb_say(env, "%d points to", number),
		       (ull)left, left == 1 ? "" : "s", number, (ull)left),
		*type ? nb_say(env,
			       "declare the variable with the map's type: "
			       "%s %s",
			       type, *name ? name : "k")
		      : nb_say(env, "give it a type of %llu bytes", (ull)size));
}

int nb_refuse_frame(struct nb_env *env, const struct nb_state *st, uint32_t pc,
		    int number, const struct nb_range *off, uint64_t size)
{
	enum nb_name_part part;
	uint32_t map;

	if (nb_range_is_const(off) && off->smin < 0 &&
	    off->smin >= -NB_STACK_SIZE &&
	    argument(env, st, pc, number, &map, &part))
		return refuse_short(env, pc, number, map, part, size,
				    (uint64_t)-off->smin);
	return nb_refuse(env, NB_FIND_STACK_BOUNDS, pc, number,
			 nb_say(env, "%llu byte%s at r10-%d to r10-%llu",
				(ull)size, size == 1 ? "" : "s", NB_STACK_SIZE,
				(ull)size),
			 nb_say(env, "the access is at offset %s from r10",
				nb_say_span(env, off->smin, off->smax)),
			 "");
}

/* Bytes from @bad on that were not written either. */
static int64_t bad_until(const struct nb_frame *f, int64_t bad, int64_t hi)
{
	int64_t end = bad + 1, other;

	while (end < hi && !nb_stack_written(f, end, end + 1, &other))
		end++;
	return end;
}

/* "bytes 4 to 7", "byte 3" */
static const char *say_bytes(struct nb_env *env, int64_t lo, int64_t end)
{
	if (end - lo == 1)
		return nb_say(env, "byte %lld", (long long)lo);
	return nb_say(env, "bytes %lld to %lld", (long long)lo,
		      (long long)end - 1);
}

/* Only the first bytes were written: the variable may be no longer. */
static const char *too_small(struct nb_env *env, uint32_t pc, int number,
			     const char *what, const char *type, uint64_t size,
			     int64_t lo)
{
	const char *name = variable(env, pc, number);

	return nb_say(env,
		      "the %s is %llu bytes and only the first %lld %s "
		      "written: is %s%s%s?",
		      what, (ull)size, (long long)lo, lo == 1 ? "is" : "are",
		      *name ? name : "the variable",
		      *type ? " a " : " as long as that", type);
}

static int refuse_argument(struct nb_env *env, uint32_t pc, int number,
			   uint32_t map, enum nb_name_part part, uint64_t size,
			   int64_t lo, int64_t end)
{
	const char *what = part == NB_NAME_KEY ? "key" : "value";
	const char *type = nb_say_type(env, map, part), *which = "";
	struct nb_member m =
		nb_member_at(env, map, part, (uint64_t)lo, (uint64_t)lo);

	if (m.padding)
		which = ", which are padding between members";
	else if (*m.text)
		which = nb_say(env, ", from member %s on", m.text);
	return nb_refuse(
		env, NB_FIND_STACK_UNINIT, pc, number,
		nb_say(env, "all %llu bytes of the %s of map %s%s%s%s written",
		       (ull)size, what, nb_map_name(env, map),
		       *type ? " (" : "", type, *type ? ")" : ""),
		nb_say(env, "%s of it (r%d points to it)%s: never written",
		       say_bytes(env, lo, end), number, which),
		m.padding ? nb_say(env,
				   "padding counts too: clear it first: %s k = "
				   "{}; or __builtin_memset(&k, 0, sizeof(k));",
				   *type ? type : "struct key")
		: lo && end == (int64_t)size && !*m.text
			? too_small(env, pc, number, what, type, size, lo)
			: "");
}

int nb_refuse_unwritten(struct nb_env *env, const struct nb_state *st,
			uint32_t pc, int number, const struct nb_range *off,
			uint64_t size, int64_t bad)
{
	const struct nb_frame *top = &st->frames[st->nframes - 1];
	const struct nb_frame *f = &st->frames[top->regs[number].frame];
	int64_t hi = off->smax + (int64_t)size, end = bad_until(f, bad, hi);
	enum nb_name_part part;
	uint32_t map;

	if (nb_range_is_const(off) &&
	    argument(env, st, pc, number, &map, &part))
		return refuse_argument(env, pc, number, map, part, size,
				       bad - off->smin, end - off->smin);
	return nb_refuse(
		env, NB_FIND_STACK_UNINIT, pc, number,
		nb_say(env, "all of r10%lld to r10%lld written before",
		       (long long)off->smin, (long long)hi - 1),
		end - bad == 1
			? nb_say(env, "the byte at r10%lld was never written%s",
				 (long long)bad,
				 f == top ? "" : " (in the caller's frame)")
			: nb_say(env,
				 "the bytes at r10%lld to r10%lld were never "
				 "written%s",
				 (long long)bad, (long long)end - 1,
				 f == top ? "" : " (in the caller's frame)"),
		"");
}
