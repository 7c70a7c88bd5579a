// SPDX-License-Identifier: MIT
// tier: full  load: cpu  limit: 600
// The numbers of the verifier against brute force. The same code is compiled
// here with a width that is a variable. At 4, 5 and 6 bits the set of abstract
// values holds every interval, signed interval, interval of the low half and
// all known bits, and mixtures of them; at 7 and 8 bits mixtures. Operators
// and branches are tried on pairs of the set, at 4 bits on all of them, and on
// every pair of their members: the plainest way, which the ways of
// test_verify_domains_4 to _8 to all pairs at 8 bits are held against. At 64
// bits the shipped code is tried on random members. A single concrete result
// outside the abstract one fails.
//
//   DOMAIN_MORE=n   n times as many pairs, known bits up to 8 (make check-soak)
#include "test/unit/unit.h"

#include <stdio.h>
#include <string.h>

#include "test/unit/domain_concrete.h"

static unsigned dom_bits = 4;

#define NB_DOM_BITS dom_bits
#define NB_DOM_FN static __attribute__((unused))
#include "core/bpf/verify/domain/tnum.c"
#include "core/bpf/verify/domain/range.c"
#include "core/bpf/verify/domain/range_alu.c"
#include "core/bpf/verify/domain/range_branch.c"

typedef struct nb_range range;

static uint64_t state = 88172645463325252ull;

static uint64_t rnd(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state * 2685821657736338717ull;
}

/* ---- a set of abstract values ---- */

enum { MAX_SET = 8192 };

struct value {
	range r;
	unsigned n;	  /* members */
	uint8_t has[256]; /* the members */
};

static struct value set[MAX_SET];
static unsigned nset;

/* What the views say together, before they are brought into agreement. */
static unsigned members(const range *r, uint8_t out[256])
{
	unsigned n = 0;

	for (unsigned v = 0; v < 1u << dom_bits; v++)
		if (nb_range_has(r, v))
			out[n++] = (uint8_t)v;
	return n;
}

static void add(range raw)
{
	struct value *v = &set[nset];
	range r = raw;
	uint8_t before[256];
	unsigned n = members(&raw, before);

	if (!nb_range_sync(&r)) {
		ck_assert_msg(!n, "agreement calls an inhabited value empty");
		return;
	}
	v->n = members(&r, v->has);
	ck_assert_msg(v->n == n && !memcmp(v->has, before, n), "agreement lost a member");
	if (!n || nset + 1 == MAX_SET)
		return;
	v->r = r;
	for (unsigned i = 0; i < nset; i++)
		if (nb_range_equal(&set[i].r, &r))
			return;
	nset++;
}

static range random_raw(void)
{
	range r = nb_range_unknown();
	uint64_t a = rnd() & nb_ones(dom_bits), b = rnd() & nb_ones(dom_bits);
	unsigned h = dom_bits / 2;

	if (rnd() & 1) {
		r.umin = a < b ? a : b;
		r.umax = a < b ? b : a;
	}
	a = rnd();
	b = rnd();
	if (rnd() & 1) {
		int64_t x = nb_sext(a, dom_bits), y = nb_sext(b, dom_bits);

		r.smin = x < y ? x : y;
		r.smax = x < y ? y : x;
	}
	if (rnd() & 1) {
		r.t.mask = rnd() & nb_ones(dom_bits);
		r.t.value = rnd() & ~r.t.mask & nb_ones(dom_bits);
	}
	if (rnd() & 1) {
		uint32_t x = (uint32_t)(a >> 8 & nb_ones(h));
		uint32_t y = (uint32_t)(b >> 8 & nb_ones(h));

		r.umin32 = x < y ? x : y;
		r.umax32 = x < y ? y : x;
	}
	if (rnd() & 1) {
		int32_t x = (int32_t)nb_sext(a >> 16, h);
		int32_t y = (int32_t)nb_sext(b >> 16, h);

		r.smin32 = x < y ? x : y;
		r.smax32 = x < y ? y : x;
	}
	return r;
}

/* Every interval, signed interval, tnum and half interval; then mixtures. */
static void build(unsigned bits, unsigned mixtures)
{
	unsigned end = 1u << bits, h = bits / 2, hend = 1u << h;
	range top;

	dom_bits = bits;
	nset = 0;
	top = nb_range_unknown();
	for (unsigned a = 0; bits <= 6 && a < end; a++) {
		for (unsigned b = 0; b < end; b++) {
			range r = top;

			r.umin = a;
			r.umax = b;
			if (a <= b)
				add(r);
			r = top;
			r.smin = nb_sext(a, bits);
			r.smax = nb_sext(b, bits);
			if (r.smin <= r.smax)
				add(r);
			r = top;
			r.t.value = a;
			r.t.mask = b;
			if (!(a & b))
				add(r);
		}
	}
	for (unsigned a = 0; a < hend; a++) {
		for (unsigned b = 0; b < hend; b++) {
			range r = top;

			r.umin32 = a;
			r.umax32 = b;
			if (a <= b)
				add(r);
			r = top;
			r.smin32 = (int32_t)nb_sext(a, h);
			r.smax32 = (int32_t)nb_sext(b, h);
			if (r.smin32 <= r.smax32)
				add(r);
		}
	}
	for (unsigned i = 0; i < mixtures; i++)
		add(random_raw());
}

static void show(const char *what, int fn, unsigned bits, const range *a, const range *b,
		 uint64_t x, uint64_t y)
{
	printf("# %s %d/%u bits: u %llx..%llx s %lld..%lld t %llx/%llx with "
	       "u %llx..%llx s %lld..%lld t %llx/%llx, members %llx %llx\n",
	       what, fn, bits, (unsigned long long)a->umin, (unsigned long long)a->umax,
	       (long long)a->smin, (long long)a->smax, (unsigned long long)a->t.value,
	       (unsigned long long)a->t.mask, (unsigned long long)b->umin,
	       (unsigned long long)b->umax, (long long)b->smin, (long long)b->smax,
	       (unsigned long long)b->t.value, (unsigned long long)b->t.mask, (unsigned long long)x,
	       (unsigned long long)y);
}

static void alu_pair(enum nb_fn fn, unsigned bits, const struct value *a, const struct value *b)
{
	range r = nb_range_alu(fn, bits, &a->r, &b->r);

	for (unsigned i = 0; i < a->n; i++) {
		for (unsigned j = 0; j < b->n; j++) {
			uint64_t v = concrete_alu(fn, bits, a->has[i], b->has[j]);

			if (nb_range_has(&r, v))
				continue;
			show("alu", (int)fn, bits, &a->r, &b->r, a->has[i], b->has[j]);
			ck_abort_msg("a concrete result is outside");
		}
	}
	if (nb_range_is_const(&a->r) && nb_range_is_const(&b->r))
		ck_assert_msg(nb_range_is_const(&r) || fn == NB_FN_DIV || fn == NB_FN_MOD ||
				      fn == NB_FN_SDIV || fn == NB_FN_SMOD,
			      "constants give no constant");
}

static void jump_pair(enum nb_fn fn, unsigned bits, const struct value *a, const struct value *b,
		      bool taken)
{
	range x = a->r, y = b->r;
	bool can = nb_range_branch(fn, bits, taken, &x, &y);

	for (unsigned i = 0; i < a->n; i++) {
		for (unsigned j = 0; j < b->n; j++) {
			if (concrete_jump(fn, bits, a->has[i], b->has[j]) != taken)
				continue;
			if (can && nb_range_has(&x, a->has[i]) && nb_range_has(&y, b->has[j]))
				continue;
			show(can ? "jump loses" : "jump denies", (int)fn, bits, &a->r, &b->r,
			     a->has[i], b->has[j]);
			ck_abort_msg("a branch loses a member");
		}
	}
}

static unsigned more(void)
{
	const char *s = getenv("DOMAIN_MORE");

	return s && atoi(s) > 0 ? (unsigned)atoi(s) : 1;
}

static void try_all(void (*pair)(unsigned bits, const struct value *a, const struct value *b),
		    unsigned step)
{
	step = step > more() ? step / more() : 1;
	for (unsigned i = 0; i < nset; i++) {
		for (unsigned j = i * 7919 % step; j < nset; j += step) {
			pair(dom_bits, &set[i], &set[j]);
			pair(dom_bits / 2, &set[i], &set[j]);
		}
	}
}

/* Shifts go by the low bits of their count: as many as say all widths below
 * one that is a power of two. */
static bool counts_fit(enum nb_fn fn)
{
	return !(dom_bits & (dom_bits - 1)) ||
	       (fn != NB_FN_LSH && fn != NB_FN_RSH && fn != NB_FN_ARSH);
}

static void each_alu(unsigned bits, const struct value *a, const struct value *b)
{
	for (unsigned f = 0; f < COUNT(alu_fns); f++)
		if (counts_fit(alu_fns[f]))
			alu_pair(alu_fns[f], bits, a, b);
}

static void each_jump(unsigned bits, const struct value *a, const struct value *b)
{
	for (unsigned f = 0; f < COUNT(jump_fns); f++) {
		jump_pair(jump_fns[f], bits, a, b, true);
		jump_pair(jump_fns[f], bits, a, b, false);
	}
}

TEST(alu_at_4_bits)
{
	build(4, 250);
	try_all(each_alu, 1);
}

TEST(branches_at_4_bits)
{
	build(4, 250);
	try_all(each_jump, 1);
}

/* A sum with a constant and a field of bits are what the operations give. */
TEST(constants_and_fields)
{
	build(4, 250);
	for (unsigned i = 0; i < nset; i++) {
		for (unsigned at = 0; at < 4; at++) {
			range k = nb_range_const(at), b;
			range sum = nb_range_plus(&set[i].r, (int)at - 4);
			range shifted = nb_range_alu(NB_FN_RSH, 4, &set[i].r, &k);

			for (unsigned bits = 1; bits <= 4; bits++) {
				b = nb_range_zext(&shifted, bits);
				k = nb_range_bits(&set[i].r, at, bits);
				ck_assert(nb_range_equal(&b, &k));
			}
			k = nb_range_const((at + 12) & 15);
			b = nb_range_alu(NB_FN_ADD, 4, &set[i].r, &k);
			ck_assert(nb_range_equal(&b, &sum));
		}
	}
}

/* Larger widths: pairs are this far apart. */
static const struct {
	unsigned bits, mixtures, step;
} wider[] = { { 5, 100, 400 }, { 6, 100, 5000 }, { 7, 300, 800 }, { 8, 400, 400 } };

TEST_EACH(alu_at_more_bits, 0, 4)
{
	build(wider[_i].bits, wider[_i].mixtures);
	try_all(each_alu, wider[_i].step);
}

TEST_EACH(branches_at_more_bits, 0, 4)
{
	build(wider[_i].bits, wider[_i].mixtures);
	try_all(each_jump, wider[_i].step);
}

TEST(views_agree)
{
	for (unsigned bits = 4; bits <= 8; bits++) {
		dom_bits = bits;
		for (int i = 0; i < 120000; i++) {
			nset = 0;
			add(random_raw());
		}
	}
}

TEST(extensions_and_sets)
{
	build(4, 250);
	for (unsigned i = 0; i < nset; i++) {
		for (unsigned bits = 1; bits <= 4; bits++) {
			range z = nb_range_zext(&set[i].r, bits);
			range s = nb_range_sext(&set[i].r, bits);

			for (unsigned k = 0; k < set[i].n; k++) {
				uint64_t v = set[i].has[k];

				ck_assert(nb_range_has(&z, v & nb_ones(bits)));
				ck_assert(nb_range_has(&s, (uint64_t)nb_sext(v, bits)));
			}
		}
		for (unsigned j = 0; j < nset; j++) {
			range both, hull = nb_range_join(&set[i].r, &set[j].r);
			bool met = nb_range_meet(&both, &set[i].r, &set[j].r);
			bool within = nb_range_within(&set[i].r, &set[j].r);

			for (unsigned v = 0; v < 16; v++) {
				bool a = nb_range_has(&set[i].r, v);
				bool b = nb_range_has(&set[j].r, v);

				ck_assert(!a || !within || b);
				ck_assert((!a && !b) || nb_range_has(&hull, v));
				ck_assert(!(a && b) || (met && nb_range_has(&both, v)));
			}
		}
	}
}

/* ---- known bits alone ---- */

typedef struct nb_tnum tnum_fn(struct nb_tnum a, struct nb_tnum b);

static void tnum_all(enum nb_fn fn, tnum_fn *op, unsigned bits)
{
	uint64_t end = 1ull << bits;

	dom_bits = bits;
	for (uint64_t i = 0; i < end * end; i++) {
		struct nb_tnum a = { i / end, i % end };

		if (a.value & a.mask)
			continue;
		for (uint64_t j = 0; j < end * end; j++) {
			struct nb_tnum b = { j / end, j % end }, r;

			if (b.value & b.mask)
				continue;
			r = op(a, b);
			/* All members: walk the subsets of both masks. */
			for (uint64_t x = a.mask;; x = (x - 1) & a.mask) {
				for (uint64_t y = b.mask;; y = (y - 1) & b.mask) {
					uint64_t v =
						concrete_alu(fn, bits, a.value | x, b.value | y);

					if (!nb_tnum_has(r, v))
						ck_abort_msg("known bits %d: "
							     "%llx/%llx "
							     "%llx/%llx",
							     (int)fn, (unsigned long long)a.value,
							     (unsigned long long)a.mask,
							     (unsigned long long)b.value,
							     (unsigned long long)b.mask);
					if (!y)
						break;
				}
				if (!x)
					break;
			}
		}
	}
}

/* All pairs of known bits, and all of their members. */
TEST(known_bits_at_small_widths)
{
	unsigned most = more() > 1 ? 8 : 6;

	for (unsigned bits = 4; bits <= most; bits++) {
		tnum_all(NB_FN_ADD, nb_tnum_add, bits);
		tnum_all(NB_FN_SUB, nb_tnum_sub, bits);
		tnum_all(NB_FN_AND, nb_tnum_and, bits);
		tnum_all(NB_FN_OR, nb_tnum_or, bits);
		tnum_all(NB_FN_XOR, nb_tnum_xor, bits);
		if (bits < most)
			tnum_all(NB_FN_MUL, nb_tnum_mul, bits);
	}
}

TEST(known_bits_of_an_interval)
{
	dom_bits = 8;
	for (unsigned a = 0; a < 256; a++) {
		for (unsigned b = a; b < 256; b++) {
			struct nb_tnum t = nb_tnum_range(a, b);

			for (unsigned v = a; v <= b; v++)
				ck_assert(nb_tnum_has(t, v));
		}
	}
}

/* ---- at full width, random members ---- */

static uint64_t edge(void)
{
	static const uint64_t edges[] = { 0,
					  1,
					  2,
					  7,
					  8,
					  31,
					  32,
					  63,
					  0x7fffffff,
					  0x80000000,
					  0xffffffff,
					  0x100000000,
					  1ull << 63,
					  UINT64_MAX,
					  INT64_MAX,
					  0xffffffff80000000,
					  0xffff,
					  UINT64_MAX - 1,
					  0x7fffffffffffff,
					  0x8000000080000000 };
	uint64_t v = edges[rnd() % COUNT(edges)];

	switch (rnd() % 4) {
	case 0:
		return rnd();
	case 1:
		return v + rnd() % 5 - 2;
	case 2:
		return rnd() >> rnd() % 64;
	default:
		return v;
	}
}

/* An abstract value that holds @v. */
static range around(uint64_t v)
{
	range r = nb_range_unknown(), out;
	uint64_t a = edge(), b = edge();

	if (rnd() % 5 == 0)
		return nb_range_const(v);
	if (rnd() & 1) {
		r.umin = a < v ? a : v;
		r.umax = b > v ? b : v;
	}
	a = edge();
	b = edge();
	if (rnd() & 1) {
		r.smin = (int64_t)a < (int64_t)v ? (int64_t)a : (int64_t)v;
		r.smax = (int64_t)b > (int64_t)v ? (int64_t)b : (int64_t)v;
	}
	if (rnd() & 1) {
		r.t.mask = rnd() & rnd();
		r.t.value = v & ~r.t.mask;
	}
	if (rnd() & 1) {
		uint32_t x = (uint32_t)edge(), y = (uint32_t)edge();

		r.umin32 = x < (uint32_t)v ? x : (uint32_t)v;
		r.umax32 = y > (uint32_t)v ? y : (uint32_t)v;
	}
	if (rnd() & 1) {
		int32_t x = (int32_t)edge(), y = (int32_t)edge();

		r.smin32 = x < (int32_t)v ? x : (int32_t)v;
		r.smax32 = y > (int32_t)v ? y : (int32_t)v;
	}
	out = r;
	ck_assert(nb_range_sync(&out));
	ck_assert(nb_range_has(&out, v));
	return out;
}

TEST(random_at_64_bits)
{
	dom_bits = 64;
	for (int i = 0; i < 400000; i++) {
		uint64_t x = edge(), y = edge();
		range a = around(x), b = around(y), r;
		enum nb_fn fn = alu_fns[rnd() % COUNT(alu_fns)];
		unsigned bits = rnd() & 1 ? 64 : 32;
		bool is;

		r = nb_range_alu(fn, bits, &a, &b);
		if (!nb_range_has(&r, concrete_alu(fn, bits, x, y))) {
			show("alu", (int)fn, bits, &a, &b, x, y);
			ck_abort_msg("a concrete result is outside");
		}
		fn = jump_fns[rnd() % COUNT(jump_fns)];
		is = concrete_jump(fn, bits, x, y);
		if (!nb_range_branch(fn, bits, is, &a, &b) || !nb_range_has(&a, x) ||
		    !nb_range_has(&b, y)) {
			show("jump", (int)fn, bits, &a, &b, x, y);
			ck_abort_msg("a branch loses a member");
		}
	}
}

TEST(moves_and_swaps_at_64_bits)
{
	static const struct {
		enum nb_fn fn;
		unsigned bits;
	} ops[] = { { NB_FN_MOVSX8, 32 },  { NB_FN_MOVSX16, 32 }, { NB_FN_MOVSX8, 64 },
		    { NB_FN_MOVSX16, 64 }, { NB_FN_MOVSX32, 64 }, { NB_FN_LE, 16 },
		    { NB_FN_LE, 32 },	   { NB_FN_LE, 64 },	  { NB_FN_BE, 16 },
		    { NB_FN_BE, 32 },	   { NB_FN_BE, 64 },	  { NB_FN_BSWAP, 16 },
		    { NB_FN_BSWAP, 32 },   { NB_FN_BSWAP, 64 } };

	dom_bits = 64;
	for (int i = 0; i < 200000; i++) {
		unsigned k = (unsigned)(rnd() % COUNT(ops));
		uint64_t x = edge(), v = 0;
		range a = around(x), r;

		r = nb_range_alu(ops[k].fn, ops[k].bits, &a, &a);
		switch ((int)ops[k].fn) {
		case NB_FN_MOVSX8:
			v = (uint64_t)(int8_t)x;
			break;
		case NB_FN_MOVSX16:
			v = (uint64_t)(int16_t)x;
			break;
		case NB_FN_MOVSX32:
			v = (uint64_t)(int32_t)x;
			break;
		case NB_FN_LE:
			v = x;
			break;
		default:
			v = ops[k].bits == 16	? __builtin_bswap16((uint16_t)x)
			    : ops[k].bits == 32 ? __builtin_bswap32((uint32_t)x)
						: __builtin_bswap64(x);
			break;
		}
		if (ops[k].bits < 64)
			v &= (1ull << ops[k].bits) - 1;
		ck_assert_msg(nb_range_has(&r, v), "operation %u of %llx", k,
			      (unsigned long long)x);
	}
}

/* Facts that policies need: not just sound but known. */
TEST(what_must_be_known)
{
	range x, y, c;

	dom_bits = 64;
	/* zero extension by a pair of shifts keeps the low half's bounds */
	x = nb_range_unknown();
	x.umax32 = 100;
	ck_assert(nb_range_sync(&x));
	c = nb_range_const(32);
	y = nb_range_alu(NB_FN_LSH, 64, &x, &c);
	y = nb_range_alu(NB_FN_RSH, 64, &y, &c);
	ck_assert_uint_eq(y.umax, 100);
	x = nb_range_unknown();
	x.smin32 = -5;
	x.smax32 = 7;
	ck_assert(nb_range_sync(&x));
	y = nb_range_alu(NB_FN_LSH, 64, &x, &c);
	y = nb_range_alu(NB_FN_ARSH, 64, &y, &c);
	ck_assert_int_eq(y.smin, -5);
	ck_assert_int_eq(y.smax, 7);
	/* a mask, a shift, a remainder bound */
	x = nb_range_unknown();
	c = nb_range_const(15);
	y = nb_range_alu(NB_FN_AND, 64, &x, &c);
	ck_assert_uint_eq(y.umax, 15);
	c = nb_range_const(60);
	y = nb_range_alu(NB_FN_RSH, 64, &x, &c);
	ck_assert_uint_eq(y.umax, 15);
	c = nb_range_const(10);
	y = nb_range_alu(NB_FN_MOD, 64, &x, &c);
	ck_assert_uint_eq(y.umax, 9);
	/* an unsigned bound is a signed one where it fits */
	x = nb_range_unknown();
	c = nb_range_const(9);
	ck_assert(nb_range_branch(NB_FN_JLE, 64, true, &x, &c));
	ck_assert_int_eq(x.smin, 0);
	ck_assert_int_eq(x.smax, 9);
	/* a signed pair of tests is an unsigned bound */
	x = nb_range_unknown();
	ck_assert(nb_range_branch(NB_FN_JSLE, 64, true, &x, &c));
	c = nb_range_const(0);
	ck_assert(nb_range_branch(NB_FN_JSGE, 64, true, &x, &c));
	ck_assert_uint_eq(x.umax, 9);
	/* no bit from 3 on: below 8 */
	x = nb_range_unknown();
	c = nb_range_const(~7ull);
	ck_assert(nb_range_branch(NB_FN_JSET, 64, false, &x, &c));
	ck_assert_uint_eq(x.umax, 7);
	/* not equal to an end moves the end */
	x = nb_range_u(0, 10);
	c = nb_range_const(10);
	ck_assert(nb_range_branch(NB_FN_JNE, 64, true, &x, &c));
	ck_assert_uint_eq(x.umax, 9);
	/* a 32-bit test bounds the whole once the high half is 0 */
	x = nb_range_u(0, UINT32_MAX);
	c = nb_range_const(4);
	ck_assert(nb_range_branch(NB_FN_JLT, 32, true, &x, &c));
	ck_assert_uint_eq(x.umax, 3);
}

UNIT_MAIN("verify domains")
