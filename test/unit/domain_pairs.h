// SPDX-License-Identifier: MIT
#ifndef NB_TEST_DOMAIN_PAIRS_H
#define NB_TEST_DOMAIN_PAIRS_H

/*
 * The verifier's numbers at NB_DOM_BITS (4 to 8) bits, pair by pair, without
 * walking the pairs of members: a set of numbers is a word of 2^NB_DOM_BITS
 * bits. For one right operand the results for each left member are a set;
 * those of an interval of members grow by one set from those of the interval
 * that ends before, those of known bits are the union of two with one more
 * bit known. So what a pair of abstract values must hold, all of it, costs a
 * few operations, and so does whether it is there: the members of a result
 * are the intersection of one set from a table for each of its views.
 *
 * A run takes the right operands that are so far apart, of each operation from
 * another one on, and all left ones. DOMAIN_MORE=n: n times as many, of a large
 * number all that there are; DOMAIN_PART=i/n: the i-th of n shares of them;
 * DOMAIN_SHOW=1 tells of each operation. domains.sh adds up (make domains).
 */
#include "test/unit/domain_sets.h"

/* ---- what a run takes ---- */

static unsigned long more(void)
{
	const char *e = getenv("DOMAIN_MORE");
	unsigned long n = e ? strtoul(e, NULL, 10) : 1;

	return n ? n : 1;
}

/* Right operands of operation @op: @ci apart in CI, with more of them @all. */
struct apart {
	unsigned long ci, all;
};

struct taken {
	unsigned long step, at;
};

static struct taken take(unsigned op, struct apart d)
{
	const char *e = getenv("DOMAIN_PART");
	unsigned long share = 0, shares = 1;
	struct taken t = { d.ci / more(), 0 };

	if (e && sscanf(e, "%lu/%lu", &share, &shares) != 2)
		ck_abort_msg("DOMAIN_PART is i/n");
	t.step = t.step < d.all ? d.all : t.step;
	t.at = op * 7919ul % t.step + share * t.step;
	t.step *= shares;
	return t;
}

/* What was tried, and how much of it could not be better: of one operation,
 * and of those before it in the same test. */
static struct tally {
	unsigned long pairs, looked, exact, members, least;
} tally, total;

/* @parts: before agreement, where there is nothing to measure. */
static void told(const char *what, unsigned bits, bool parts)
{
	if (tally.pairs && getenv("DOMAIN_SHOW"))
		printf("# tried %s%s, %u bits of %u: %lu pairs, of %lu exact "
		       "%lu, members %lu of %lu\n",
		       what, parts ? ", its parts" : "", bits, BITS, tally.pairs, tally.looked,
		       tally.exact, tally.members, tally.least);
	fflush(stdout);
	total.pairs += tally.pairs;
	total.looked += tally.looked;
	total.exact += tally.exact;
	total.members += tally.members;
	total.least += tally.least;
	memset(&tally, 0, sizeof(tally));
}

/* A test ends; @floor: of 100 results so many are the tightest there are. */
static void summed(const char *what, unsigned floor)
{
	double exact = 100.0 * (double)total.exact / (double)(total.looked + !total.looked);

	printf("# %u bits, %s: %lu pairs", BITS, what, total.pairs);
	if (total.looked)
		printf(", %.1f %% of the results are the tightest, members "
		       "%.3f times the least",
		       exact, (double)total.members / (double)total.least);
	printf("\n");
	fflush(stdout);
	ck_assert_msg(more() > 1 || exact >= floor,
		      "%s: only %.1f %% of the results are the tightest", what, exact);
	memset(&total, 0, sizeof(total));
}

/* Count for one pair in 61 whether the result is the tightest possible one. */
static void measure(const range *r, struct bits must)
{
	range h;

	if (tally.pairs++ % 61 || empty(must))
		return;
	h = hull(must);
	tally.looked++;
	tally.exact += nb_range_equal(&h, r);
	tally.members += size(members(r));
	tally.least += size(members(&h));
}

static _Noreturn void lost(const char *what, unsigned bits, const range *a, const range *b,
			   const range *r, struct bits must)
{
	const range *const all[] = { a, b, r };

	for (unsigned i = 0; i < 3; i++)
		printf("# %s: u %llx..%llx s %lld..%lld t %llx/%llx half u "
		       "%x..%x s %d..%d\n",
		       i == 0	? "of"
		       : i == 1 ? "and"
				: "gives",
		       (unsigned long long)all[i]->umin, (unsigned long long)all[i]->umax,
		       (long long)all[i]->smin, (long long)all[i]->smax,
		       (unsigned long long)all[i]->t.value, (unsigned long long)all[i]->t.mask,
		       all[i]->umin32, all[i]->umax32, all[i]->smin32, all[i]->smax32);
	for (unsigned v = 0; v < SIZE; v++)
		if (in(&must, v) && !nb_range_has(r, v))
			printf("# without %x\n", v);
	fflush(stdout);
	ck_abort_msg("%s of %u bits at %u loses a member", what, bits, BITS);
	abort();
}

static inline void holds(const char *what, unsigned bits, const range *a, const range *b,
			 const range *r, struct bits must)
{
	if (!fits(r) || beyond(must, members(r)))
		lost(what, bits, a, b, r, must);
	measure(r, must);
}

/* ---- ALU ---- */

static const char *const alu_names[] = { "add", "sub", "mul",  "div",  "mod",  "or",  "and", "xor",
					 "lsh", "rsh", "arsh", "sdiv", "smod", "neg", "mov" };
static const char *const jump_names[] = { "jeq",  "jne",  "jgt",  "jge",  "jlt", "jle",
					  "jsgt", "jsge", "jslt", "jsle", "jset" };

static struct bits row[SIZE];		/* results of one left member */
static struct bits lattice[SIZE][SIZE]; /* of known bits: value, mask */

static struct {
	enum nb_fn fn;
	const char *name;
	unsigned bits;
	const struct value *b;
} op;

static inline void result(const struct value *a, struct bits must)
{
	range r = nb_range_alu(op.fn, op.bits, &a->r, &op.b->r);

	holds(op.name, op.bits, &a->r, &op.b->r, &r, must);
}

static void rows(void)
{
	memset(row, 0, sizeof(row));
	for (unsigned x = 0; x < SIZE; x++)
		for (unsigned y = 0; y < SIZE; y++)
			if (in(&op.b->has, y))
				put(&row[x], rfc_alu(op.fn, op.bits, x, y));
}

static void all_arcs(const struct set *s)
{
	for (unsigned a = 0; a < SIZE; a++) {
		struct bits must = { 0 };

		for (unsigned n = 0; n < SIZE; n++) {
			must = either(must, row[(a + n) & LAST]);
			if (s->arc[a][n])
				result(&s->v[s->arc[a][n] - 1], must);
		}
	}
}

static void all_known(const struct set *s)
{
	for (unsigned m = 0; m < SIZE; m++) {
		unsigned one = m & -m;

		for (unsigned v = 0; v < SIZE; v++) {
			if (v & m)
				continue;
			lattice[v][m] =
				m ? either(lattice[v][m ^ one], lattice[v | one][m ^ one]) : row[v];
			if (s->known[v][m])
				result(&s->v[s->known[v][m] - 1], lattice[v][m]);
		}
	}
}

static void one_by_one(const struct set *s, unsigned from)
{
	for (unsigned i = from; i < s->n; i++) {
		struct bits must = { 0 };

		for (unsigned x = 0; x < SIZE; x++)
			if (in(&s->v[i].has, x))
				must = either(must, row[x]);
		result(&s->v[i], must);
	}
}

/* Shifts go by the low bits of their count: as many as say all widths below
 * one that is a power of two. */
static bool counts_fit(enum nb_fn fn)
{
	return !(BITS & (BITS - 1)) || (fn != NB_FN_LSH && fn != NB_FN_RSH && fn != NB_FN_ARSH);
}

static void each_alu(const struct set *s, const struct set *of, unsigned bits, struct apart step)
{
	for (unsigned f = 0; f < COUNT(alu_fns); f++) {
		struct taken t = take(f, step);

		op.fn = alu_fns[f];
		op.name = alu_names[f];
		op.bits = bits;
		for (unsigned long j = t.at; j < of->n && counts_fit(op.fn); j += t.step) {
			op.b = &of->v[j];
			rows();
			if (s->others) {
				all_arcs(s);
				all_known(s);
			}
			one_by_one(s, s->others);
		}
		told(op.name, bits, false);
	}
}

/* ---- branches ---- */

static struct bits with_left[SIZE], with_right[SIZE];

static void partners(enum nb_fn fn, unsigned bits, bool taken)
{
	memset(with_left, 0, sizeof(with_left));
	memset(with_right, 0, sizeof(with_right));
	for (unsigned x = 0; x < SIZE; x++)
		for (unsigned y = 0; y < SIZE; y++)
			if (rfc_jump(fn, bits, x, y) == taken) {
				put(&with_left[x], y);
				put(&with_right[y], x);
			}
}

static struct bits partners_of(const struct bits with[SIZE], struct bits has)
{
	struct bits all = { 0 };

	for (unsigned v = 0; v < SIZE; v++)
		if (in(&has, v))
			all = either(all, with[v]);
	return all;
}

static struct bits right_of[MAX_VALUES];

static void branch(const char *name, enum nb_fn fn, unsigned bits, bool taken, const struct set *s,
		   const struct set *of, struct taken t)
{
	partners(fn, bits, taken);
	for (unsigned i = 0; i < s->n; i++)
		right_of[i] = partners_of(with_left, s->v[i].has);
	for (unsigned long j = t.at; j < of->n; j += t.step) {
		const struct value *b = &of->v[j];
		struct bits left = partners_of(with_right, b->has);

		for (unsigned i = 0; i < s->n; i++) {
			const struct value *a = &s->v[i];
			struct bits x = common(a->has, left);
			struct bits y = common(b->has, right_of[i]);
			range p = a->r, q = b->r;

			if (nb_range_branch(fn, bits, taken, &p, &q)) {
				holds(name, bits, &a->r, &b->r, &p, x);
				holds(name, bits, &a->r, &b->r, &q, y);
			} else if (!empty(x)) {
				lost(name, bits, &a->r, &b->r, &p, x);
			}
		}
	}
}

static void each_branch(const struct set *s, const struct set *of, unsigned bits, struct apart step)
{
	for (unsigned f = 0; f < COUNT(jump_fns); f++) {
		branch(jump_names[f], jump_fns[f], bits, true, s, of, take(2 * f, step));
		branch(jump_names[f], jump_fns[f], bits, false, s, of, take(2 * f + 1, step));
		told(jump_names[f], bits, false);
	}
}

/* ---- extensions, meet, join, within ---- */

static void each_extension(const struct set *s)
{
	for (unsigned i = 0; i < s->n; i++)
		for (unsigned bits = 1; bits <= BITS; bits++) {
			const range *a = &s->v[i].r;
			range z = nb_range_zext(a, bits);
			range e = nb_range_sext(a, bits);
			struct bits of_z = { 0 }, of_e = { 0 };

			for (unsigned v = 0; v < SIZE; v++)
				if (in(&s->v[i].has, v)) {
					put(&of_z, v & nb_ones(bits));
					put(&of_e, (uint64_t)nb_sext(v, bits) & LAST);
				}
			holds("zero extension", bits, a, a, &z, of_z);
			holds("sign extension", bits, a, a, &e, of_e);
		}
	told("extensions", BITS, false);
}

static void each_set(const struct set *s, const struct set *of, struct apart step)
{
	struct taken t = take(0, step);

	for (unsigned long j = t.at; j < of->n; j += t.step)
		for (unsigned i = 0; i < s->n; i++) {
			const struct value *a = &s->v[i], *b = &of->v[j];
			struct bits x = common(a->has, b->has);
			range r = nb_range_join(&a->r, &b->r);

			holds("join", BITS, &a->r, &b->r, &r, either(a->has, b->has));
			if (nb_range_within(&a->r, &b->r) && beyond(a->has, b->has))
				lost("within", BITS, &a->r, &b->r, &b->r, a->has);
			if (nb_range_meet(&r, &a->r, &b->r))
				holds("meet", BITS, &a->r, &b->r, &r, x);
			else if (!empty(x))
				lost("meet", BITS, &a->r, &b->r, &a->r, x);
		}
	told("meet and join", BITS, false);
}

static void fill(void)
{
	for (unsigned v = 0; v < SIZE; v++) {
		fill_whole(v);
		fill_bits(v);
		fill_half(v);
	}
}

#endif
