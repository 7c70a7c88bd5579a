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
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/unit/domain_concrete.h"
#include "test/unit/unit.h"

#if defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__)
#pragma GCC optimize("O2")
#endif

#define NB_DOM_FN static __attribute__((unused))
#define make tnum_make
#include "core/verify/domain/tnum.c"
#undef make
#include "core/verify/domain/range.c"

typedef struct nb_range range;

enum {
	BITS = NB_DOM_BITS,
	HALF = NB_DOM_BITS / 2,
	SIZE = 1 << BITS,
	HALF_SIZE = 1 << HALF,
	LAST = SIZE - 1,
	HALF_LAST = HALF_SIZE - 1,
	WORDS = SIZE > 64 ? SIZE / 64 : 1,
	MAX_VALUES = 1 << 17
};

/* ---- sets of numbers ---- */

struct bits {
	uint64_t w[WORDS];
};

static inline void put(struct bits *s, uint64_t v)
{
	s->w[v / 64] |= 1ull << v % 64;
}

static inline bool in(const struct bits *s, uint64_t v)
{
	return s->w[v / 64] >> v % 64 & 1;
}

static inline struct bits either(struct bits a, struct bits b)
{
	for (int i = 0; i < WORDS; i++)
		a.w[i] |= b.w[i];
	return a;
}

static inline struct bits common(struct bits a, struct bits b)
{
	for (int i = 0; i < WORDS; i++)
		a.w[i] &= b.w[i];
	return a;
}

/* Is there a number of @a that is not in @b? */
static inline bool beyond(struct bits a, struct bits b)
{
	uint64_t out = 0;

	for (int i = 0; i < WORDS; i++)
		out |= a.w[i] & ~b.w[i];
	return out;
}

static inline bool empty(struct bits a)
{
	uint64_t any = 0;

	for (int i = 0; i < WORDS; i++)
		any |= a.w[i];
	return !any;
}

static inline unsigned size(struct bits a)
{
	unsigned n = 0;

	for (int i = 0; i < WORDS; i++)
		n += (unsigned)__builtin_popcountll(a.w[i]);
	return n;
}

/* ---- the members of each view ---- */

enum { SPLIT = 4, UPPER = BITS - SPLIT, UPPER_SIZE = 1 << UPPER };

static struct bits above[SIZE], below[SIZE], above_signed[SIZE],
	below_signed[SIZE], bits_low[16][16], bits_high[UPPER_SIZE][UPPER_SIZE],
	of_half[HALF_SIZE][HALF_SIZE], of_half_signed[HALF_SIZE][HALF_SIZE],
	one_bit[BITS];

static void fill_whole(unsigned v)
{
	int64_t s = nb_sext(v, BITS);

	for (unsigned k = 0; k < SIZE; k++) {
		if (v >= k)
			put(&above[k], v);
		if (v <= k)
			put(&below[k], v);
		if (s >= nb_sext(k, BITS))
			put(&above_signed[k], v);
		if (s <= nb_sext(k, BITS))
			put(&below_signed[k], v);
	}
	for (unsigned i = 0; i < BITS; i++)
		if (v >> i & 1)
			put(&one_bit[i], v);
}

static void fill_bits(unsigned v)
{
	for (unsigned k = 0; k < 16; k++)
		for (unsigned m = 0; m < 16; m++)
			if ((v & 15 & ~m) == k)
				put(&bits_low[k][m], v);
	for (unsigned k = 0; k < UPPER_SIZE; k++)
		for (unsigned m = 0; m < UPPER_SIZE; m++)
			if ((v >> SPLIT & ~m) == k)
				put(&bits_high[k][m], v);
}

static void fill_half(unsigned v)
{
	unsigned l = v & HALF_LAST;
	int64_t s = nb_sext(v, HALF);

	for (unsigned a = 0; a < HALF_SIZE; a++)
		for (unsigned b = 0; b < HALF_SIZE; b++) {
			if (l >= a && l <= b)
				put(&of_half[a][b], v);
			if (s >= nb_sext(a, HALF) && s <= nb_sext(b, HALF))
				put(&of_half_signed[a][b], v);
		}
}

/* Does every view stay within its width? */
static inline bool fits(const range *r)
{
	return !(r->t.value & r->t.mask) && (r->t.value | r->t.mask) <= LAST &&
	       r->umin <= LAST && r->umax <= LAST && r->smin >= least(BITS) &&
	       r->smin <= most(BITS) && r->smax >= least(BITS) &&
	       r->smax <= most(BITS) && r->umin32 <= HALF_LAST &&
	       r->umax32 <= HALF_LAST && r->smin32 >= least(HALF) &&
	       r->smin32 <= most(HALF) && r->smax32 >= least(HALF) &&
	       r->smax32 <= most(HALF);
}

static inline struct bits of_bits(struct nb_tnum t)
{
	return common(bits_low[t.value & 15][t.mask & 15],
		      bits_high[t.value >> SPLIT][t.mask >> SPLIT]);
}

static inline struct bits members(const range *r)
{
	struct bits s = common(above[r->umin], below[r->umax]);

	s = common(s, above_signed[(uint64_t)r->smin & LAST]);
	s = common(s, below_signed[(uint64_t)r->smax & LAST]);
	s = common(s, of_bits(r->t));
	s = common(s, of_half[r->umin32][r->umax32]);
	return common(s, of_half_signed[(unsigned)r->smin32 & HALF_LAST]
				       [(unsigned)r->smax32 & HALF_LAST]);
}

/* The tightest value that holds all of @s, which is not empty. */
static range hull(struct bits s)
{
	range r = { .smin = INT64_MAX,
		    .smax = INT64_MIN,
		    .umin = UINT64_MAX,
		    .umin32 = UINT32_MAX,
		    .smin32 = INT32_MAX,
		    .smax32 = INT32_MIN };
	uint64_t all = LAST, any = 0;

	for (unsigned v = 0; v < SIZE; v++) {
		range c;

		if (!in(&s, v))
			continue;
		c = nb_range_const(v);
		r = make(r.t, iv_join(whole(&r), whole(&c)),
			 iv_join(half(&r), half(&c)));
		all &= v;
		any |= v;
	}
	r.t = (struct nb_tnum){ all, any & ~all };
	return r;
}

/* Also where no test runs yet, and libcheck has no place for it. */
static _Noreturn void wrong(const char *why)
{
	printf("# %u bits: %s\n", BITS, why);
	fflush(stdout);
	ck_abort_msg("%s", why);
	abort();
}

/* ---- abstract values ---- */

struct value {
	range r;
	struct bits has;
};

struct set {
	struct value *v;
	unsigned n, max;
	unsigned *slot; /* where a value is, plus one, by its hash */
	/* Intervals that may wrap, by first member and number of further
	 * ones, and known bits, by value and mask: indices plus one. The
	 * others follow them. */
	unsigned (*arc)[SIZE], (*known)[SIZE], others;
};

static struct set basic, halves, mixed;

static unsigned *slot_of(struct set *s, const range *r)
{
	const uint64_t f[] = {
		r->t.value,	     r->t.mask,		 r->umin,   r->umax,
		(uint64_t)r->smin,   (uint64_t)r->smax,	 r->umin32, r->umax32,
		(uint64_t)r->smin32, (uint64_t)r->smax32
	};
	uint64_t h = 0;

	for (unsigned i = 0; i < COUNT(f); i++) {
		h = (h ^ f[i]) * 0x9e3779b97f4a7c15;
		h ^= h >> 29;
	}
	for (;; h++) {
		unsigned *at = &s->slot[h % (4 * MAX_VALUES)];

		if (!*at || nb_range_equal(&s->v[*at - 1].r, r))
			return at;
	}
}

/* Its index plus one, whether it is new or not. */
static unsigned keep(struct set *s, range r, struct bits has)
{
	unsigned *at = slot_of(s, &r);

	if (!*at) {
		if (s->n == MAX_VALUES)
			wrong("too many values");
		s->v[s->n] = (struct value){ r, has };
		*at = ++s->n;
	}
	return *at;
}

/*
 * What remains of @raw by agreement: the same members. Its index plus one;
 * 0: there are none.
 */
static unsigned agreed(struct set *s, range raw)
{
	struct bits has = members(&raw);
	range r = raw;

	if (!sync(&r)) {
		if (!empty(has))
			wrong("agreement denies an inhabited value");
		return 0;
	}
	if (!fits(&r) || memcmp(has.w, members(&r).w, sizeof(has.w)))
		wrong("agreement loses a member, or brings one");
	return empty(has) ? 0 : keep(s, r, has);
}

static void begin(struct set *s)
{
	s->v = calloc(MAX_VALUES, sizeof(*s->v));
	s->slot = calloc(4 * MAX_VALUES, sizeof(*s->slot));
	s->arc = calloc(SIZE, sizeof(*s->arc));
	s->known = calloc(SIZE, sizeof(*s->known));
	if (!s->v || !s->slot || !s->arc || !s->known)
		wrong("no memory");
}

static range with_whole(uint64_t umin, uint64_t umax, int64_t smin,
			int64_t smax)
{
	range r = nb_range_unknown();

	set_whole(&r, (struct iv){ umin, umax, smin, smax });
	return r;
}

static range with_half(unsigned a, unsigned b, bool is_signed)
{
	range r = nb_range_unknown();

	if (is_signed) {
		r.smin32 = (int32_t)nb_sext(a, HALF);
		r.smax32 = (int32_t)nb_sext(b, HALF);
	} else {
		r.umin32 = a;
		r.umax32 = b;
	}
	return r;
}

/* The @i-th of SIZE * SIZE interval, signed interval, known bits. */
static range nth(unsigned kind, unsigned i)
{
	unsigned a = i / SIZE, b = i % SIZE;
	range r = nb_range_unknown();

	switch (kind) {
	case 0:
		return with_whole(a, b, least(BITS), most(BITS));
	case 1:
		return with_whole(0, LAST, nb_sext(a, BITS), nb_sext(b, BITS));
	case 2:
		/* Bits that are 0 and 1 at a time: nothing is in it. */
		r.t = (struct nb_tnum){ a, b };
		return r;
	default:
		return with_half(a & HALF_LAST, b & HALF_LAST, kind == 4);
	}
}

static bool meant(unsigned kind, unsigned i)
{
	unsigned a = i / SIZE, b = i % SIZE;

	if (kind >= 3 && (a >= HALF_SIZE || b >= HALF_SIZE))
		return false;
	return kind != 2 || !(a & b);
}

static bool ordered_views(const range *r)
{
	return r->umin <= r->umax && r->smin <= r->smax &&
	       r->umin32 <= r->umax32 && r->smin32 <= r->smax32;
}

/* Every interval, signed interval, known bits and interval of the half. */
static void build_basic(struct set *s)
{
	begin(s);
	for (unsigned kind = 0; kind < 5; kind++) {
		if (kind == 3)
			s->others = s->n;
		for (unsigned i = 0; i < SIZE * SIZE; i++) {
			range r = nth(kind, i);
			unsigned at;

			if (!meant(kind, i) || !ordered_views(&r))
				continue;
			at = agreed(s, r);
			if (kind < 2 && r.smin <= r.smax)
				s->arc[i / SIZE][(i % SIZE - i / SIZE) & LAST] =
					at;
			if (kind == 2)
				s->known[i / SIZE][i % SIZE] = at;
		}
	}
}

/* Every combination of all that can be known of the low half alone. */
static void build_halves(struct set *s)
{
	begin(s);
	for (unsigned v = 0; v < HALF_SIZE; v++) {
		for (unsigned m = 0; m < HALF_SIZE; m++) {
			range r = nb_range_unknown();

			if (v & m)
				continue;
			r.t.value = v;
			r.t.mask = m | (LAST & ~HALF_LAST);
			for (unsigned i = 0; i < SIZE * SIZE; i++) {
				unsigned j = i;

				r.umin32 = j % HALF_SIZE, j /= HALF_SIZE;
				r.umax32 = j % HALF_SIZE, j /= HALF_SIZE;
				r.smin32 = (int32_t)nb_sext(j, HALF);
				r.smax32 =
					(int32_t)nb_sext(j / HALF_SIZE, HALF);
				if (j / HALF_SIZE < HALF_SIZE &&
				    ordered_views(&r))
					agreed(s, r);
			}
		}
	}
}

static uint64_t seed = 88172645463325252ull;

static uint64_t rnd(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed * 2685821657736338717ull;
}

/* @n mixtures: what two to five of the basic values have in common. */
static void build_mixed(struct set *s, unsigned n)
{
	begin(s);
	for (unsigned i = 0; i < n; i++) {
		range r = basic.v[rnd() % basic.n].r;

		for (uint64_t k = 1 + rnd() % 4; k; k--) {
			range b = nth((unsigned)(rnd() % 5),
				      (unsigned)(rnd() % (SIZE * SIZE)));

			if (!ordered_views(&b) || b.t.value & b.t.mask)
				continue;
			if (!nb_tnum_meet(&r.t, r.t, b.t))
				break;
			r = make(r.t, iv_meet(whole(&r), whole(&b)),
				 iv_meet(half(&r), half(&b)));
			if (!ordered_views(&r))
				break;
		}
		if (ordered_views(&r))
			agreed(s, r);
	}
}

/* Every combination of all that can be known: only for 4 and 5 bits. */
static void build_every(struct set *s)
{
	begin(s);
	agreed(s, nb_range_unknown());
	for (unsigned kind = 0; kind < 5; kind++) {
		unsigned before = s->n;

		for (unsigned k = 0; k < before; k++)
			for (unsigned i = 0; i < SIZE * SIZE; i++) {
				range b = nth(kind, i), r;

				if (!meant(kind, i) || !ordered_views(&b))
					continue;
				r = s->v[k].r;
				if (!nb_tnum_meet(&r.t, r.t, b.t))
					continue;
				r = make(r.t, iv_meet(whole(&r), whole(&b)),
					 iv_meet(half(&r), half(&b)));
				if (ordered_views(&r))
					agreed(s, r);
			}
	}
}

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
		       what, parts ? ", its parts" : "", bits, BITS,
		       tally.pairs, tally.looked, tally.exact, tally.members,
		       tally.least);
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
	double exact = 100.0 * (double)total.exact /
		       (double)(total.looked + !total.looked);

	printf("# %u bits, %s: %lu pairs", BITS, what, total.pairs);
	if (total.looked)
		printf(", %.1f %% of the results are the tightest, members "
		       "%.3f times the least",
		       exact, (double)total.members / (double)total.least);
	printf("\n");
	fflush(stdout);
	ck_assert_msg(more() > 1 || exact >= floor,
		      "%s: only %.1f %% of the results are the tightest", what,
		      exact);
	memset(&total, 0, sizeof(total));
}

/* Of one pair in some: is the result the tightest there is? */
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

static _Noreturn void lost(const char *what, unsigned bits, const range *a,
			   const range *b, const range *r, struct bits must)
{
	const range *const all[] = { a, b, r };

	for (unsigned i = 0; i < 3; i++)
		printf("# %s: u %llx..%llx s %lld..%lld t %llx/%llx half u "
		       "%x..%x s %d..%d\n",
		       i == 0	? "of"
		       : i == 1 ? "and"
				: "gives",
		       (unsigned long long)all[i]->umin,
		       (unsigned long long)all[i]->umax,
		       (long long)all[i]->smin, (long long)all[i]->smax,
		       (unsigned long long)all[i]->t.value,
		       (unsigned long long)all[i]->t.mask, all[i]->umin32,
		       all[i]->umax32, all[i]->smin32, all[i]->smax32);
	for (unsigned v = 0; v < SIZE; v++)
		if (in(&must, v) && !nb_range_has(r, v))
			printf("# without %x\n", v);
	fflush(stdout);
	ck_abort_msg("%s of %u bits at %u loses a member", what, bits, BITS);
	abort();
}

static inline void holds(const char *what, unsigned bits, const range *a,
			 const range *b, const range *r, struct bits must)
{
	if (!fits(r) || beyond(must, members(r)))
		lost(what, bits, a, b, r, must);
	measure(r, must);
}

/* ---- ALU ---- */

static const char *const alu_names[] = { "add",	 "sub",	 "mul",	 "div", "mod",
					 "or",	 "and",	 "xor",	 "lsh", "rsh",
					 "arsh", "sdiv", "smod", "neg", "mov" };
static const char *const jump_names[] = { "jeq",  "jne",  "jgt",  "jge",
					  "jlt",  "jle",  "jsgt", "jsge",
					  "jslt", "jsle", "jset" };

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
				put(&row[x],
				    concrete_alu(op.fn, op.bits, x, y));
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
			lattice[v][m] = m ? either(lattice[v][m ^ one],
						   lattice[v | one][m ^ one])
					  : row[v];
			if (s->known[v][m])
				result(&s->v[s->known[v][m] - 1],
				       lattice[v][m]);
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
	return !(BITS & (BITS - 1)) ||
	       (fn != NB_FN_LSH && fn != NB_FN_RSH && fn != NB_FN_ARSH);
}

static void each_alu(const struct set *s, const struct set *of, unsigned bits,
		     struct apart step)
{
	for (unsigned f = 0; f < COUNT(alu_fns); f++) {
		struct taken t = take(f, step);

		op.fn = alu_fns[f];
		op.name = alu_names[f];
		op.bits = bits;
		for (unsigned long j = t.at; j < of->n && counts_fit(op.fn);
		     j += t.step) {
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
			if (concrete_jump(fn, bits, x, y) == taken) {
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

static void branch(const char *name, enum nb_fn fn, unsigned bits, bool taken,
		   const struct set *s, const struct set *of, struct taken t)
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

static void each_branch(const struct set *s, const struct set *of,
			unsigned bits, struct apart step)
{
	for (unsigned f = 0; f < COUNT(jump_fns); f++) {
		branch(jump_names[f], jump_fns[f], bits, true, s, of,
		       take(2 * f, step));
		branch(jump_names[f], jump_fns[f], bits, false, s, of,
		       take(2 * f + 1, step));
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
					put(&of_e,
					    (uint64_t)nb_sext(v, bits) & LAST);
				}
			holds("zero extension", bits, a, a, &z, of_z);
			holds("sign extension", bits, a, a, &e, of_e);
		}
	told("extensions", BITS, false);
}

static void each_set(const struct set *s, const struct set *of,
		     struct apart step)
{
	struct taken t = take(0, step);

	for (unsigned long j = t.at; j < of->n; j += t.step)
		for (unsigned i = 0; i < s->n; i++) {
			const struct value *a = &s->v[i], *b = &of->v[j];
			struct bits x = common(a->has, b->has);
			range r = nb_range_join(&a->r, &b->r);

			holds("join", BITS, &a->r, &b->r, &r,
			      either(a->has, b->has));
			if (nb_range_within(&a->r, &b->r) &&
			    beyond(a->has, b->has))
				lost("within", BITS, &a->r, &b->r, &b->r,
				     a->has);
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
