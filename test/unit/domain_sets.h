// SPDX-License-Identifier: MIT
#ifndef NB_TEST_DOMAIN_SETS_H
#define NB_TEST_DOMAIN_SETS_H

/*
 * Sets of numbers of NB_DOM_BITS bits, the members of each view of an abstract
 * value, and tables of abstract values: domain_pairs.h says what for.
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
#include "core/bpf/verify/domain/tnum.c"
#include "core/bpf/verify/domain/range.c"
#include "core/bpf/verify/domain/range_alu.c"
#include "core/bpf/verify/domain/range_branch.c"

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

static struct bits above[SIZE], below[SIZE], above_signed[SIZE], below_signed[SIZE],
	bits_low[16][16], bits_high[UPPER_SIZE][UPPER_SIZE], of_half[HALF_SIZE][HALF_SIZE],
	of_half_signed[HALF_SIZE][HALF_SIZE], one_bit[BITS];

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
	return !(r->t.value & r->t.mask) && (r->t.value | r->t.mask) <= LAST && r->umin <= LAST &&
	       r->umax <= LAST && r->smin >= least(BITS) && r->smin <= most(BITS) &&
	       r->smax >= least(BITS) && r->smax <= most(BITS) && r->umin32 <= HALF_LAST &&
	       r->umax32 <= HALF_LAST && r->smin32 >= least(HALF) && r->smin32 <= most(HALF) &&
	       r->smax32 >= least(HALF) && r->smax32 <= most(HALF);
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
	return common(
		s,
		of_half_signed[(unsigned)r->smin32 & HALF_LAST][(unsigned)r->smax32 & HALF_LAST]);
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
		r = from_views(r.t, iv_join(whole(&r), whole(&c)), iv_join(half(&r), half(&c)));
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
	const uint64_t f[] = { r->t.value,	    r->t.mask,		r->umin,   r->umax,
			       (uint64_t)r->smin,   (uint64_t)r->smax,	r->umin32, r->umax32,
			       (uint64_t)r->smin32, (uint64_t)r->smax32 };
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

	if (!nb_range_sync(&r)) {
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

static range with_whole(uint64_t umin, uint64_t umax, int64_t smin, int64_t smax)
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
	return r->umin <= r->umax && r->smin <= r->smax && r->umin32 <= r->umax32 &&
	       r->smin32 <= r->smax32;
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
				s->arc[i / SIZE][(i % SIZE - i / SIZE) & LAST] = at;
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
				r.smax32 = (int32_t)nb_sext(j / HALF_SIZE, HALF);
				if (j / HALF_SIZE < HALF_SIZE && ordered_views(&r))
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
			range b = nth((unsigned)(rnd() % 5), (unsigned)(rnd() % (SIZE * SIZE)));

			if (!ordered_views(&b) || b.t.value & b.t.mask)
				continue;
			if (!nb_tnum_meet(&r.t, r.t, b.t))
				break;
			r = from_views(r.t, iv_meet(whole(&r), whole(&b)),
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
				r = from_views(r.t, iv_meet(whole(&r), whole(&b)),
					       iv_meet(half(&r), half(&b)));
				if (ordered_views(&r))
					agreed(s, r);
			}
	}
}

#endif
