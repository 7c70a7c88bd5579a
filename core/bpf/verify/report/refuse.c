// SPDX-License-Identifier: MIT
/*
 * Turn a refusal record into the finding. The texts are the templates of
 * the rule (core/defs/rules.h); each word in braces is computed from the
 * record.
 */
#include "core/bpf/verify/report/refuse.h"

#include <inttypes.h>
#include <string.h>

#include "core/bpf/verify/report/format.h"
#include "core/bpf/verify/report/names.h"
#include "core/bpf/verify/report/say.h"
#include "core/bpf/verify/report/source.h"
#include "core/bpf/verify/state/operands.h"

typedef unsigned long long ull;

/* Largest number of branches of a path that can be replayed. */
enum { MAX_BRANCHES = 65536 };

static const struct rule_words {
	enum nb_finding_class cls;
	enum nb_rule of; /* The RULE whose text is used where this row has an empty text. */
	const char *required, *known, *hint;
} rules[NB_NRULES] = {
#define RULE(name, word, text, required, known, hint) \
	[NB_RULE_##name] = { NB_FIND_##name, NB_RULE_##name, required, known, hint },
#define VARIANT(name, class, required, known, hint) \
	[NB_RULE_##name] = { NB_FIND_##class, NB_RULE_##class, required, known, hint },
#include "core/defs/rules.h"
};

static const struct nb_reg *reg_of(const struct nb_refusal *x)
{
	return &x->st->frames[x->st->nframes - 1].regs[x->reg];
}

static bool is_own_frame(const struct nb_refusal *x)
{
	return reg_of(x)->frame + 1u == x->st->nframes;
}

static const char *say_bytes(struct nb_env *env, uint64_t n)
{
	return nb_say(env, "%" PRIu64 " byte%s", n, n == 1 ? "" : "s");
}

/* Return the offset of the last byte of an access. */
static const char *say_last(struct nb_env *env, const struct nb_refusal *x)
{
	return nb_say(env, "%lld", (long long)x->off->smax + (long long)x->size - 1);
}

static const char *say_of_type(struct nb_env *env, const char *type)
{
	return *type ? nb_say(env, " (%s)", type) : "";
}

static const char *say_struct(const char *type)
{
	return *type ? type : "struct key";
}

static const char *say_argument(enum nb_arg arg)
{
	if (arg == NB_ARG_KEY)
		return "the key";
	if (arg == NB_ARG_VALUE)
		return "the value";
	return nb_arg_reads(arg)    ? "memory to read"
	       : nb_arg_writes(arg) ? "memory to write"
				    : "an argument";
}

static const char *say_at(struct nb_env *env, const struct nb_refusal *x)
{
	const char *place = nb_say_place(env, x->pointer, x->off);

	return *place ? nb_say(env, "%s: ", place) : "";
}

/* List the map types that @h accepts, for example "array, hash". */
static const char *say_map_types(struct nb_env *env, const struct nb_helper_spec *h)
{
	size_t n;
	const struct nb_map_type_spec *t = nb_spec_map_types(&n);
	const char *list = "";

	for (size_t i = 0; i < n; i++)
		if (h->maps >> t[i].id & 1)
			list = *list ? nb_say(env, "%s, %s", list, t[i].word) : t[i].word;
	return list;
}

/* List a chain of functions with their bytes of stack, for example "main
 * (16) > helper (512)". */
static const char *say_chain(struct nb_env *env, const struct nb_refusal *x)
{
	const char *text = "";

	for (uint32_t i = 0; i < x->count; i++) {
		const char *name = env->program.cfg.funcs[x->chain[i]].name;

		text = nb_say(env, "%s%s%s (%u)", text, i ? " > " : "", name ? name : "?",
			      env->facts.depth[x->chain[i]]);
	}
	return text;
}

static const char *say_change(struct nb_env *env, const struct nb_refusal *x)
{
	if (!x->was)
		return "";
	return nb_say(env, ": %s, then %s", nb_say_reg(env, x->was, (int)x->number),
		      nb_say_reg(env, x->is, -1));
}

/*
 * Describe an access that leaves its memory, and stack bytes that were never
 * written. A hint names a number or a variable only if it is certain to be
 * right.
 */

/* Return the granularity of a variable offset: the size of the elements
 * that it indexes. */
static uint64_t stride(const struct nb_range *off)
{
	return off->t.mask ? off->t.mask & -off->t.mask : 0;
}

static const char *index_text(struct nb_env *env, uint32_t pc)
{
	const char *text = nb_source_index(env, pc);

	return text ? text : "index";
}

static const char *before_line(struct nb_env *env, uint32_t pc)
{
	const struct nb_line *l = nb_line_of(env->program.prog, pc);

	return l ? nb_say(env, "before line %u add: ", l->line) : "add: ";
}

/* Return the number of elements that an index of the access may select; 0
 * if not certain. */
static uint64_t elements(const struct nb_member *m, const struct nb_range *off, uint64_t size,
			 uint64_t limit)
{
	uint64_t step = stride(off);

	if (m->array)
		return m->array->size / m->array->elem;
	/* The member is not an array, so no index is valid. */
	if (m->last && m->last->level)
		return 0;
	if (!step || size > limit || off->smin < 0 || (uint64_t)off->smin >= step)
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
		return nb_member_at(env, r->map, NB_NAME_VALUE, lo, (uint64_t)x->off->smax);
	if (r->kind == NB_REG_VALUE && nb_range_is_const(x->off) && x->off->smin >= 0 &&
	    nb_source_index(env, x->pc))
		return nb_member_beyond(env, r->map, NB_NAME_VALUE, lo);
	return (struct nb_member){ .text = "" };
}

/* Return the hint for an access past the end of a map's value. */
static const char *size_hint(struct nb_env *env, const struct nb_refusal *x)
{
	const struct nb_reg *r = reg_of(x);
	const char *name;

	if (r->kind != NB_REG_VALUE)
		return "the access is past the end of the value";
	name = nb_map_name(env, r->map);
	if (*name == '.') /* The map is a section of the object file. */
		return "the access is past the end of the variables";
	return nb_say(env,
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
		return "the access is in front of the value";
	if (!m->array)
		return size_hint(env, x);
	n = m->array->size / m->array->elem;
	return nb_say(env, "the last element is [%u]: let %s stay below %u", n - 1,
		      index_text(env, x->pc), n);
}

static const char *say_bound(struct nb_env *env, const struct nb_refusal *x)
{
	struct nb_member m = accessed(env, x);
	const char *index = index_text(env, x->pc);
	uint64_t n = elements(&m, x->off, x->size, x->limit);

	if (nb_range_is_const(x->off))
		return outside_hint(env, x, &m);
	if (x->off->smin < 0)
		return nb_say(env,
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

static const char *say_memory(struct nb_env *env, const struct nb_refusal *x)
{
	const struct nb_reg *r = reg_of(x);
	const char *name, *type;

	if (r->kind == NB_REG_MEM && r->ref)
		return nb_say(env, "the record of %llu bytes reserved at %s", (ull)x->limit,
			      nb_say_where(env, r->from));
	if (r->kind != NB_REG_VALUE)
		return nb_say(env, "the %llu bytes of memory", (ull)x->limit);
	name = nb_map_name(env, r->map);
	type = nb_say_type(env, r->map, NB_NAME_VALUE);
	/* The map is a section of the object file: its members are C
	 * variables. */
	if (*name == '.')
		return nb_say(env, "the %llu bytes of variables in %s", (ull)x->limit, name);
	return nb_say(env, "the value of map %s (%s%s%llu bytes)", name, type, *type ? ", " : "",
		      (ull)x->limit);
}

static const char *say_access(struct nb_env *env, const struct nb_refusal *x)
{
	struct nb_member m = accessed(env, x);
	const char *at =
		nb_say(env, "%llu byte%s at offset %s", (ull)x->size, x->size == 1 ? "" : "s",
		       nb_say_span(env, x->off->smin, x->off->smax));

	if (m.array)
		return nb_say(env, "%s: %s, but there are %u elements", at,
			      *m.text ? m.text : m.array->name, m.array->size / m.array->elem);
	if (*m.text)
		return nb_say(env, "%s: from %s on (%u bytes)", at, m.text, m.last->size);
	return at;
}

static const char *say_variable(struct nb_env *env, const struct nb_refusal *x)
{
	const char *name = nb_source_argument(env, x->pc, x->reg);

	return *name ? name : nb_say(env, "what r%d points to", x->reg);
}

static const char *say_declared(struct nb_env *env, const struct nb_refusal *x)
{
	const char *name = nb_source_argument(env, x->pc, x->reg);

	return *name ? name : "k";
}

static const char *say_missing_bytes(struct nb_env *env, const struct nb_refusal *x)
{
	if (x->number == x->to)
		return nb_say(env, "byte %lld", (long long)x->number);
	return nb_say(env, "bytes %lld to %lld", (long long)x->number, (long long)x->to);
}

static struct nb_member missing(struct nb_env *env, const struct nb_refusal *x)
{
	uint64_t at = (uint64_t)x->number;

	return nb_member_at(env, x->map, x->part, at, at);
}

static const char *say_member(struct nb_env *env, const struct nb_refusal *x)
{
	const char *name = missing(env, x).text;

	return *name ? nb_say(env, ", from member %s on", name) : "";
}

static const char *say_too_small(struct nb_env *env, const struct nb_refusal *x)
{
	const char *name = nb_source_argument(env, x->pc, x->reg);
	const char *type = nb_say_type(env, x->map, x->part);

	/* Only the first bytes were written, so the variable may be too
	 * short. */
	if (!x->number || x->to + 1 != (int64_t)x->size || *missing(env, x).text)
		return "";
	return nb_say(env, "the %s is %llu bytes and only the first %lld %s written: is %s%s%s?",
		      x->part == NB_NAME_KEY ? "key" : "value", (ull)x->size, (long long)x->number,
		      x->number == 1 ? "is" : "are", *name ? name : "the variable",
		      *type ? " a " : " as long as that", type);
}

/*
 * The loop that starts at a slot, or else the smallest loop around it, as a reader
 * of the source sees it: the slots [head, last], of which @last jumps back to
 * @head.
 */
struct loop {
	uint32_t head, last;
	bool found; /* otherwise @head and @last are the slot itself */
};

static struct loop loop_at(const struct nb_env *env, uint32_t pc)
{
	struct loop best = { pc, pc, false };
	bool starts = false; /* A loop starts at @pc: its last jump back is its end. */

	for (uint32_t at = pc; at < env->program.n; at++) {
		int64_t to = nb_insn_target(&env->program.insns[at], at);

		if (!(env->program.insns[at].traits & NB_INSN_JUMP) || to < 0 || to > pc)
			continue;
		if (to == pc || (!starts && (!best.found || at - to < best.last - best.head)))
			best = (struct loop){ (uint32_t)to, at, true };
		starts |= to == pc;
	}
	return best;
}

static bool leaves(const struct nb_env *env, const struct loop *loop, uint32_t pc)
{
	const struct nb_insn *in = &env->program.insns[pc];
	int64_t to = nb_insn_target(in, pc);

	if (in->kind == NB_KIND_EXIT)
		return true;
	if (!(in->traits & NB_INSN_JUMP))
		return false;
	return to < loop->head || to > loop->last || (pc == loop->last && in->kind != NB_KIND_JA);
}

/* Return the slot of the loop at @pc to name: the first one of the author's own lines. */
static uint32_t own_slot(const struct nb_env *env, uint32_t pc)
{
	struct loop loop = loop_at(env, pc);

	for (pc = loop.head; pc <= loop.last; pc++)
		if (!nb_line_is_header(nb_line_of(env->program.prog, pc)))
			return pc;
	return loop.head;
}

static const char *say_loop(struct nb_env *env, uint32_t pc)
{
	return nb_say_where(env, own_slot(env, pc));
}

/* Return the text of a slot's line, for example "line 13: while (x != 7)". */
static const char *say_line(struct nb_env *env, uint32_t pc)
{
	const struct nb_line *l = nb_line_of(env->program.prog, pc);

	if (!l || !l->text || !*l->text)
		return nb_say(env, "slot %u: %s", pc, nb_say_insn(env, pc));
	return nb_say(env, "line %u: %s", l->line, l->text + strspn(l->text, " \t"));
}

/*
 * Name the first branch that leaves the loop around @pc, for example "; it
 * ends by line 13: while (x != 7)"; "" if @pc is in no loop, or if the loop
 * ends inside a macro of the policy header.
 */
static const char *say_exit(struct nb_env *env, uint32_t pc)
{
	struct loop loop = loop_at(env, pc);

	if (!loop.found)
		return "";
	for (pc = loop.head; pc <= loop.last; pc++)
		if (leaves(env, &loop, pc))
			break;
	if (pc > loop.last)
		return "; the loop has no exit";
	if (nb_line_is_header(nb_line_of(env->program.prog, pc)))
		return "";
	return nb_say(env, "; it ends by %s", say_line(env, pc));
}

/* Many paths that one loop multiplies are not many iterations. */
static const char *say_arrivals(struct nb_env *env, const struct nb_refusal *x)
{
	return nb_say(env,
		      x->to < 0 ? "%llu iterations were verified" : "%llu paths reached its start",
		      (ull)x->count);
}

static const char *say_branch(struct nb_env *env, const struct nb_refusal *x)
{
	if (x->to < 0)
		return "";
	return nb_say(env, "; the branch that adds most paths (%llu %% of the work) is in %s",
		      (ull)x->size, say_line(env, (uint32_t)x->to));
}

/* Does the run time count the iterations of the loop at @pc, as in ncclbpf_for? */
static bool is_counted_loop(const struct nb_env *env, uint32_t pc)
{
	struct loop loop = loop_at(env, pc);

	for (uint32_t at = loop.head; loop.found && at <= loop.last; at++) {
		const struct nb_insn *in = &env->program.insns[at];

		if (in->kind == NB_KIND_MAY_GOTO || nb_insn_effect(in) == NB_EFFECT_ITER_NEXT)
			return true;
	}
	return false;
}

/* Return what makes the loop at @x->where, or the code around the branch, cheaper to verify. */
static const char *say_simpler(struct nb_env *env, const struct nb_refusal *x)
{
	bool loop = loop_at(env, x->where).found, counted = is_counted_loop(env, x->where);
	const uint16_t *func_of = env->program.cfg.func_of;
	const struct nb_line *l;
	const char *at;
	bool called;

	if (x->to < 0)
		return counted ? "bound the loops inside this one by smaller constants"
			       : "bound the loop by a smaller constant, or write it with "
				 "ncclbpf_for: only a few iterations are verified then";
	called = func_of[x->to] != func_of[x->where];
	l = nb_line_of(env->program.prog, (uint32_t)x->to);
	at = l ? nb_say(env, "line %u", l->line) : nb_say(env, "slot %lld", (long long)x->to);
	return nb_say(env, "%smake the branch in %s branch-free%s",
		      loop && !counted ? "write the loop with ncclbpf_for (only a few iterations "
					 "are verified then), or "
				       : "",
		      at,
		      called ? ""
		      : loop ? ", or put the body of the loop into a static __noinline function"
			     : ", or put the code around it into a static __noinline function");
}

struct word {
	const char *name;
	const char *(*say)(struct nb_env *env, const struct nb_refusal *x);
};

#define WORD(name, facts, text)                                                        \
	static const char *word_##name(struct nb_env *env, const struct nb_refusal *x) \
	{                                                                              \
		(void)env;                                                             \
		(void)x;                                                               \
		return text;                                                           \
	}
#include "core/bpf/verify/report/words.h"

static const struct word words[] = {
#define WORD(name, facts, text) { #name, word_##name },
#include "core/bpf/verify/report/words.h"
};

/* Return the word in braces at @brace; NULL if there is none. */
static const struct word *find_rule_word(const char *brace)
{
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		size_t n = strlen(words[i].name);

		if (!strncmp(brace + 1, words[i].name, n) && brace[n + 1] == '}')
			return &words[i];
	}
	return NULL;
}

const char *nb_expand(struct nb_env *env, const char *text, const struct nb_refusal *x)
{
	const char *done = "", *brace = text;

	while ((brace = strchr(brace, '{'))) {
		const struct word *w = find_rule_word(brace);

		if (!w) {
			brace++;
			continue;
		}
		done = nb_say(env, "%s%.*s%s", done, (int)(brace - text), text, w->say(env, x));
		text = brace += strlen(w->name) + 2;
	}
	return *done ? nb_say(env, "%s%s", done, text) : text;
}

void nb_way_keep(struct nb_env *env, struct nb_way *to)
{
	const struct nb_history *h = &env->walk.history;

	*to = (struct nb_way){ .n = h->n };
	if (h->n && h->n <= MAX_BRANCHES)
		to->steps = nb_arena_dup(env->program.arena, h->steps, h->n * sizeof(*h->steps));
}

static const char *text_or(const char *text, const char *other)
{
	return *text ? text : other;
}

int nb_refuse(struct nb_env *env, enum nb_rule rule, const struct nb_refusal *x)
{
	struct nb_finding *f = &env->v->finding;
	const struct rule_words *w = &rules[rule], *of = &rules[w->of];
	enum nb_finding_class cls = w->cls;
	const char *hint;

	if (env->walk.how.replay) {
		env->walk.reached = cls == f->cls && x->pc == f->pc;
		return NB_E_VERIFY;
	}
	if (f->cls)
		return NB_E_VERIFY;
	nb_more_words(env);
	f->cls = cls;
	f->rule = rule;
	f->pc = x->pc;
	f->reg = x->reg;
	f->from = x->where;
	f->insn = nb_say_insn(env, x->pc);
	f->required = nb_expand(env, text_or(w->required, of->required), x);
	f->known = nb_expand(env, text_or(w->known, of->known), x);
	hint = x->hint ? nb_expand(env, x->hint, x) : "";
	f->hint = text_or(hint, nb_expand(env, text_or(w->hint, of->hint), x));
	f->func = nb_say_func(env, x->pc);
	f->line = nb_line_of(env->program.prog, x->pc);
	nb_way_keep(env, &f->way);
	return NB_E_VERIFY;
}

/* Does register @x->reg point to a key or value of the helper's map? */
static bool is_element(struct nb_env *env, struct nb_refusal *x)
{
	const struct nb_insn *in = &env->program.insns[x->pc];
	const struct nb_map_spec *m;
	const struct nb_helper_spec *h;

	if (!nb_insn_calls_helper(in) || x->reg < 1)
		return false;
	h = nb_spec_helper((int32_t)in->imm);
	m = h ? nb_helper_map(&env->program, x->st, h) : NULL;
	if (!m || (h->arg[x->reg - 1] != NB_ARG_KEY && h->arg[x->reg - 1] != NB_ARG_VALUE))
		return false;
	x->map = (uint32_t)(m - env->program.img->maps);
	x->part = h->arg[x->reg - 1] == NB_ARG_KEY ? NB_NAME_KEY : NB_NAME_VALUE;
	return true;
}

int nb_refuse_span(struct nb_env *env, struct nb_refusal *x)
{
	bool map = reg_of(x)->kind == NB_REG_VALUE;

	if (nb_range_is_const(x->off) && is_element(env, x))
		return nb_refuse(env, map ? NB_RULE_MAP_SHORT : NB_RULE_MEM_SHORT, x);
	x->hint = "{bound}";
	if (x->size > x->limit)
		return nb_refuse(env, map ? NB_RULE_MAP_TOO_LARGE : NB_RULE_MEM_TOO_LARGE, x);
	return nb_refuse(env, map ? NB_RULE_MAP_BOUNDS : NB_RULE_MEM_BOUNDS, x);
}

int nb_refuse_frame(struct nb_env *env, struct nb_refusal *x)
{
	x->limit = NB_STACK_SIZE;
	if (!nb_range_is_const(x->off) || x->off->smin >= 0 || x->off->smin < -NB_STACK_SIZE ||
	    !is_element(env, x))
		return nb_refuse(env, NB_RULE_STACK_BOUNDS, x);
	x->limit = (uint64_t)-x->off->smin;
	return nb_refuse(env,
			 *nb_say_type(env, x->map, x->part) ? NB_RULE_STACK_SHORT_TYPE
							    : NB_RULE_STACK_SHORT,
			 x);
}

/* Return the end of the unwritten bytes that begin at @bad. */
static int64_t bad_until(const struct nb_frame *f, int64_t bad, int64_t hi)
{
	int64_t end = bad + 1, other;

	while (end < hi && !nb_stack_written(f, end, end + 1, &other))
		end++;
	return end;
}

int nb_refuse_unwritten(struct nb_env *env, struct nb_refusal *x, int64_t bad)
{
	const struct nb_frame *f = &x->st->frames[reg_of(x)->frame];
	int64_t hi = x->off->smax + (int64_t)x->size;

	x->number = bad;
	x->to = bad_until(f, bad, hi) - 1;
	if (!nb_range_is_const(x->off) || !is_element(env, x))
		return nb_refuse(
			env, x->number == x->to ? NB_RULE_STACK_UNINIT_BYTE : NB_RULE_STACK_UNINIT,
			x);
	x->number -= x->off->smin;
	x->to -= x->off->smin;
	if (missing(env, x).padding)
		return nb_refuse(env, NB_RULE_STACK_PADDING, x);
	x->hint = "{too_small}";
	return nb_refuse(env, NB_RULE_STACK_UNINIT_ARG, x);
}
