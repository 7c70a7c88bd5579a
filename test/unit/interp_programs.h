// SPDX-License-Identifier: MIT
#ifndef NB_TEST_UNIT_INTERP_PROGRAMS_H
#define NB_TEST_UNIT_INTERP_PROGRAMS_H

/* Programs from text or slots, run by the interpreter, and a second reading of
 * RFC 9669's arithmetic. */
#include "test/unit/unit.h"

#include "core/bpf/exec/run/exec.h"
#include "test/unit/asm.h"

enum { MAX = 256, PASSES = 8 << 20 };

static const uint64_t edge[] = { 0,
				 1,
				 2,
				 7,
				 16,
				 31,
				 32,
				 33,
				 63,
				 64,
				 65,
				 0x7f,
				 0x80,
				 0x7fff,
				 0x8000,
				 0x7fffffff,
				 0x80000000,
				 0xffffffff,
				 0x100000000,
				 0x7fffffffffffffff,
				 0x8000000000000000,
				 0xffffffff80000000,
				 0xffffffffffffffff,
				 0xfffffffffffffff9,
				 0x0123456789abcdef,
				 0xfedcba9876543210 };

enum { NEDGE = sizeof(edge) / sizeof(edge[0]) };

/* ---- programs ---- */

static inline int bind(struct nb_exec **x, const struct nb_slot *slots, size_t n,
		       struct nb_map *const *maps, uint32_t nmaps, struct nb_err *err)
{
	static const struct nb_map_spec specs[4];
	const struct nb_func func = { .name = "f", .end = (uint32_t)n };
	const struct nb_prog prog = { .name = "f",
				      .section = "tuner",
				      .slots = slots,
				      .nslots = (uint32_t)n,
				      .funcs = &func,
				      .nfuncs = 1 };
	const struct nb_image img = {
		.name = "test", .maps = specs, .nmaps = nmaps, .progs = &prog, .nprogs = 1
	};

	return nb_exec_new(x, &img, 0, maps, NULL, err);
}

static inline struct nb_exec *program(const char *text, struct nb_map *const *maps, uint32_t nmaps)
{
	struct nb_slot slots[MAX];
	struct nb_err err = { 0 };
	struct nb_exec *x;
	size_t n;

	ck_assert_msg(!nb_asm(slots, MAX, &n, text, &err), "%s", err.text);
	ck_assert_msg(!bind(&x, slots, n, maps, nmaps, &err), "%s", err.text);
	return x;
}

static inline uint64_t run_with(const char *text, void *ctx, size_t size)
{
	struct nb_exec *x = program(text, NULL, 0);
	uint64_t r0 = nb_exec_run(x, ctx, size);

	nb_exec_free(x);
	return r0;
}

static inline uint64_t run(const char *text)
{
	return run_with(text, NULL, 0);
}

/* ---- the second reading ---- */

static inline uint64_t mask(unsigned width)
{
	return width == 64 ? ~(uint64_t)0 : ((uint64_t)1 << width) - 1;
}

static inline uint64_t top(unsigned width)
{
	return (uint64_t)1 << (width - 1);
}

static inline uint64_t add(uint64_t a, uint64_t b, unsigned width)
{
	uint64_t sum = 0;
	uint64_t carry = 0;

	for (unsigned i = 0; i < width; i++) {
		uint64_t n = (a >> i & 1) + (b >> i & 1) + carry;

		sum |= (n & 1) << i;
		carry = n >> 1;
	}
	return sum;
}

static inline uint64_t negate(uint64_t a, unsigned width)
{
	return add(~a & mask(width), 1, width);
}

static inline uint64_t mul(uint64_t a, uint64_t b, unsigned width)
{
	uint64_t product = 0;

	for (unsigned i = 0; i < width; i++) {
		if (b >> i & 1)
			product = add(product, a, width);
		a = add(a, a, width);
	}
	return product;
}

/* Long division; @rest gets the remainder. */
static inline uint64_t divide(uint64_t a, uint64_t b, unsigned width, uint64_t *rest)
{
	uint64_t q = 0, r = 0;

	*rest = a;
	if (b == 0)
		return 0;
	for (unsigned i = width; i-- > 0;) {
		bool out = r & top(64);

		r = r << 1 | (a >> i & 1);
		if (out || r >= b) {
			r -= b;
			q |= (uint64_t)1 << i;
		}
	}
	*rest = r;
	return q;
}

/* On magnitudes, then the signs: the quotient's is the product of both, the
 * remainder's is the dividend's. */
static inline uint64_t signed_divide(uint64_t a, uint64_t b, unsigned width, uint64_t *rest)
{
	bool na = a & top(width), nb = b & top(width);
	uint64_t q;

	q = divide(na ? negate(a, width) : a, nb ? negate(b, width) : b, width, rest);
	if (na)
		*rest = negate(*rest, width);
	return na != nb ? negate(q, width) : q;
}

static inline uint64_t shift(enum nb_fn fn, uint64_t a, uint64_t n, unsigned width)
{
	for (n %= width; n > 0; n--) {
		uint64_t sign = fn == NB_FN_ARSH ? a & top(width) : 0;

		a = fn == NB_FN_LSH ? add(a, a, width) : a / 2 | sign;
	}
	return a;
}

static inline uint64_t extend(uint64_t a, unsigned from, unsigned to)
{
	a &= mask(from);
	return a & top(from) ? a | (mask(to) & ~mask(from)) : a;
}

static inline uint64_t swap(uint64_t a, unsigned width)
{
	uint64_t out = 0;

	for (unsigned i = 0; i < width; i += 8)
		out = out << 8 | (a >> i & 0xff);
	return out;
}

static inline uint64_t alu(const struct nb_insn_spec *row, uint64_t a, uint64_t b)
{
	unsigned w = row->width;
	uint64_t rest;

	a &= mask(w);
	b &= mask(w);
	switch ((int)row->fn) {
	case NB_FN_ADD:
		return add(a, b, w);
	case NB_FN_SUB:
		return add(a, negate(b, w), w);
	case NB_FN_MUL:
		return mul(a, b, w);
	case NB_FN_DIV:
		return divide(a, b, w, &rest);
	case NB_FN_MOD:
		divide(a, b, w, &rest);
		return rest;
	case NB_FN_SDIV:
		return signed_divide(a, b, w, &rest);
	case NB_FN_SMOD:
		signed_divide(a, b, w, &rest);
		return rest;
	case NB_FN_AND:
		return ~(~a | ~b) & mask(w);
	case NB_FN_OR:
		return ~(~a & ~b) & mask(w);
	case NB_FN_XOR:
		return (a | b) - (a & b);
	case NB_FN_LSH:
	case NB_FN_RSH:
	case NB_FN_ARSH:
		return shift(row->fn, a, b, w);
	case NB_FN_MOV:
		return b;
	case NB_FN_NEG:
		return negate(a, w);
	case NB_FN_MOVSX8:
		return extend(b, 8, w);
	case NB_FN_MOVSX16:
		return extend(b, 16, w);
	case NB_FN_MOVSX32:
		return extend(b, 32, w);
	case NB_FN_LE:
		return a;
	case NB_FN_BE:
	case NB_FN_BSWAP:
		return swap(a, w);
	}
	ck_abort_msg("row %s is no ALU row", row->name);
	return 0;
}

static inline bool jump(const struct nb_insn_spec *row, uint64_t a, uint64_t b)
{
	unsigned w = row->width;
	uint64_t sa, sb;

	a &= mask(w);
	b &= mask(w);
	/* moved by half the range, signed order is unsigned order */
	sa = add(a, top(w), w);
	sb = add(b, top(w), w);
	switch ((int)row->fn) {
	case NB_FN_JEQ:
		return !(a ^ b);
	case NB_FN_JNE:
		return a ^ b;
	case NB_FN_JSET:
		return (a & b) != 0;
	case NB_FN_JGT:
		return !(a <= b);
	case NB_FN_JGE:
		return !(a < b);
	case NB_FN_JLT:
		return !(a >= b);
	case NB_FN_JLE:
		return !(a > b);
	case NB_FN_JSGT:
		return sa > sb;
	case NB_FN_JSGE:
		return sa >= sb;
	case NB_FN_JSLT:
		return sa < sb;
	case NB_FN_JSLE:
		return sa <= sb;
	}
	ck_abort_msg("row %s is no jump", row->name);
	return false;
}

/* ---- ALU and jumps ---- */

enum { LDX64 = 0x79, MOV64_X = 0xbf, MOV64_K = 0xb7, EXIT = 0x95, JA = 0x05 };

static inline struct nb_exec *bound(const struct nb_slot *s, size_t n)
{
	struct nb_err err = { 0 };
	struct nb_exec *x;

	ck_assert_msg(!bind(&x, s, n, NULL, 0, &err), "%s", err.text);
	return x;
}

#endif
