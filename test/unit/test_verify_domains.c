// SPDX-License-Identifier: MIT
// tier: full  load: cpu  limit: 600
// The numbers of the verifier at 64 bits: the shipped code on random members,
// where a single concrete result outside the abstract one fails, and what has
// to be known and not just sound. test_verify_domains_4 to _8 try all there is
// at those widths.
//
//   DOMAIN_MORE=n   n times as many (make check-soak)
#include "test/unit/unit.h"

#include <stdio.h>
#include <string.h>

#include "test/unit/domain_concrete.h"

#define NB_DOM_BITS 64
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

static unsigned more(void)
{
	const char *s = getenv("DOMAIN_MORE");

	return s && atoi(s) > 0 ? (unsigned)atoi(s) : 1;
}

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
	for (unsigned i = 0; i < 400000u * more(); i++) {
		uint64_t x = edge(), y = edge();
		range a = around(x), b = around(y), r;
		enum nb_fn fn = alu_fns[rnd() % COUNT(alu_fns)];
		unsigned bits = rnd() & 1 ? 64 : 32;
		bool is;

		r = nb_range_alu(fn, bits, &a, &b);
		if (!nb_range_has(&r, rfc_alu(fn, bits, x, y))) {
			show("alu", (int)fn, bits, &a, &b, x, y);
			ck_abort_msg("a concrete result is outside");
		}
		fn = jump_fns[rnd() % COUNT(jump_fns)];
		is = rfc_jump(fn, bits, x, y);
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

	for (unsigned i = 0; i < 200000u * more(); i++) {
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
