// SPDX-License-Identifier: MIT
#ifndef NB_EXEC_JIT_ENC_ARM64_H
#define NB_EXEC_JIT_ENC_ARM64_H

#include <stdbool.h>
#include <stdint.h>

#include "core/bpf/exec/jit/machine.h"

/*
 * Encodings of A64 instructions (Arm Architecture Reference Manual for A,
 * chapter C6). This file knows nothing of BPF: a function emits one machine
 * instruction at ctx->pos, or a few for a constant. Enumerators are the
 * fixed bits of the 32-bit form. @w selects 64-bit operands; 32-bit results
 * have a zero upper half. Register 31 is SP or ZR, depending on the
 * instruction.
 */

enum { FP = 29, LR = 30, SP = 31, ZR = 31 };

/* Condition codes; flipping the lowest bit inverts a condition. */
enum { CC_EQ = 0, CC_NE = 1, CC_HS = 2, CC_LO = 3, CC_HI = 8, CC_LS = 9 };
enum { CC_GE = 10, CC_LT = 11, CC_GT = 12, CC_LE = 13 }; /* signed */

/* Instructions with two source registers and one destination. */
enum {
	A_AND = 0x0a000000,
	A_ADD = 0x0b000000,
	A_UDIV = 0x1ac00800,
	A_SDIV = 0x1ac00c00,
	A_LSL = 0x1ac02000,
	A_LSR = 0x1ac02400,
	A_ASR = 0x1ac02800,
	A_ORR = 0x2a000000,
	A_ORN = 0x2a200000,
	A_EOR = 0x4a000000,
	A_SUB = 0x4b000000,
	A_ANDS = 0x6a000000,
	A_SUBS = 0x6b000000
};

/* Move wide, bit fields, and instructions with one source register. */
enum {
	A_MOVN = 0x12800000,
	A_MOVZ = 0x52800000,
	A_MOVK = 0x72800000,
	A_SBFM = 0x13000000,
	A_UBFM = 0x53000000,
	A_REV16 = 0x5ac00400,
	A_REV32 = 0x5ac00800,
	A_REV64 = 0x5ac00c00
};

/* Bits 22 and 23 of loads and stores. */
enum { A_STORE = 0, A_LOAD = 1, A_LOAD_SIGNED = 2 };

/* Ordered and exclusive accesses, and read-modify-write instructions (LSE,
 * acquire and release). */
enum {
	A_STLXR = 0x0800fc00,
	A_LDAXR = 0x085ffc00,
	A_STLR = 0x089ffc00,
	A_LDAR = 0x08dffc00,
	A_CAS = 0x08e0fc00,
	A_LDADD = 0x38e00000,
	A_LDCLR = 0x38e01000,
	A_LDEOR = 0x38e02000,
	A_LDSET = 0x38e03000,
	A_SWP = 0x38e08000
};

#define A_UDF 0u
#define A_B 0x14000000u
#define A_CBZ 0x34000000u
#define A_CBNZ 0x35000000u
#define A_BCOND 0x54000000u
#define A_BL 0x94000000u
#define A_BTI_C 0xd503245fu
/* The barrier DMB ISH, for the inner shareable domain. */
#define A_DMB 0xd5033bbfu
#define A_BLR 0xd63f0000u
#define A_MRS_TPIDR 0xd53bd040u /* MRS of TPIDR_EL0, the thread pointer. */
#define A_RET 0xd65f03c0u

static inline void a4(struct nb_jit_ctx *c, uint32_t v)
{
	for (unsigned i = 0; i < 4; i++, c->pos++)
		if (c->out && c->pos < c->room)
			c->out[c->pos] = (unsigned char)(v >> 8 * i);
}

static inline uint32_t wide_bit(bool w)
{
	return (uint32_t)w << 31;
}

static inline void a_rrr(struct nb_jit_ctx *c, bool w, uint32_t op, unsigned rd, unsigned rn,
			 unsigned rm)
{
	a4(c, op | wide_bit(w) | rm << 16 | rn << 5 | rd);
}

/* Emit rd = rn + (rm << shift). */
static inline void a_add_shifted(struct nb_jit_ctx *c, unsigned rd, unsigned rn, unsigned rm,
				 unsigned shift)
{
	a4(c, A_ADD | wide_bit(true) | rm << 16 | shift << 10 | rn << 5 | rd);
}

/* Emit rd = ra + rn * rm, or ra - rn * rm. */
static inline void a_madd(struct nb_jit_ctx *c, bool w, unsigned rd, unsigned rn, unsigned rm,
			  unsigned ra)
{
	a4(c, 0x1b000000 | wide_bit(w) | rm << 16 | ra << 10 | rn << 5 | rd);
}

static inline void a_msub(struct nb_jit_ctx *c, bool w, unsigned rd, unsigned rn, unsigned rm,
			  unsigned ra)
{
	a4(c, 0x1b008000 | wide_bit(w) | rm << 16 | ra << 10 | rn << 5 | rd);
}

/* Emit rd = cc ? rn : rm, a conditional select. */
static inline void a_csel(struct nb_jit_ctx *c, unsigned rd, unsigned rn, unsigned rm, unsigned cc)
{
	a4(c, 0x1a800000 | wide_bit(true) | rm << 16 | cc << 12 | rn << 5 | rd);
}

static inline void a_rr(struct nb_jit_ctx *c, bool w, uint32_t op, unsigned rd, unsigned rn)
{
	a4(c, op | wide_bit(w) | rn << 5 | rd);
}

static inline void a_mov(struct nb_jit_ctx *c, bool w, unsigned rd, unsigned rm)
{
	a_rrr(c, w, A_ORR, rd, ZR, rm);
}

static inline void a_bitfield(struct nb_jit_ctx *c, bool w, uint32_t op, unsigned rd, unsigned rn,
			      unsigned immr, unsigned imms)
{
	a4(c, op | wide_bit(w) | (uint32_t)w << 22 | immr << 16 | imms << 10 | rn << 5 | rd);
}

/* Shift by a constant. @op: A_LSL, A_LSR or A_ASR; @n is below the width. */
static inline void a_shift_imm(struct nb_jit_ctx *c, bool w, uint32_t op, unsigned rd, unsigned rn,
			       unsigned n)
{
	unsigned width = w ? 64 : 32;

	if (op == A_LSL)
		a_bitfield(c, w, A_UBFM, rd, rn, (width - n) % width, width - 1 - n);
	else
		a_bitfield(c, w, op == A_ASR ? A_SBFM : A_UBFM, rd, rn, n, width - 1);
}

static inline uint64_t ones(unsigned n)
{
	return n == 64 ? UINT64_MAX : ((uint64_t)1 << n) - 1;
}

/*
 * Encode a logical immediate as N:immr:imms: a run of ones, rotated, and
 * repeated in each piece of 2 to 64 bits. Returns false if @v has no such
 * encoding.
 */
static inline bool bitmask(uint64_t v, bool w, uint32_t *fields)
{
	unsigned size = 64, n, rotation = 0;

	if (!w)
		v = (v & UINT32_MAX) | v << 32;
	if (v == 0 || v == UINT64_MAX)
		return false;
	while (size > 2 && ((v >> size / 2 ^ v) & ones(size / 2)) == 0)
		size /= 2;
	v &= ones(size);
	n = (unsigned)__builtin_popcountll(v);
	while (rotation < size && v != ones(n)) {
		v = (v << 1 | v >> (size - 1)) & ones(size);
		rotation++;
	}
	*fields = (size == 64 ? 1u << 12 : 0) | rotation << 6 | ((-(size << 1) & 0x3f) | (n - 1));
	return v == ones(n);
}

/* @op is A_AND, A_ORR, A_EOR or A_ANDS; this emits its immediate form. */
static inline void a_logical_imm(struct nb_jit_ctx *c, bool w, uint32_t op, unsigned rd,
				 unsigned rn, uint32_t fields)
{
	a4(c, (op + 0x08000000) | wide_bit(w) | fields << 10 | rn << 5 | rd);
}

/* Can @v be an immediate of A_ADD, A_SUB or A_SUBS? It has 12 bits, or 12
 * bits with 12 zeros below. */
static inline bool fits12(uint64_t v)
{
	return v < 1 << 12 || (v < 1 << 24 && (v & 0xfff) == 0);
}

static inline void a_add_imm(struct nb_jit_ctx *c, bool w, uint32_t op, unsigned rd, unsigned rn,
			     uint32_t imm)
{
	uint32_t shifted = imm >= 1 << 12;

	a4(c, (op + 0x06000000) | wide_bit(w) | shifted << 22 | (shifted ? imm >> 12 : imm) << 10 |
		      rn << 5 | rd);
}

/* Can @off be a scaled offset? @log is log2 of the size in bytes. */
static inline bool fits_scaled(int64_t off, unsigned log)
{
	return off >= 0 && !(off & ((1 << log) - 1)) && off >> log < 1 << 12;
}

static inline void a_mem(struct nb_jit_ctx *c, unsigned kind, unsigned log, unsigned rt,
			 unsigned rn, uint32_t off)
{
	a4(c, 0x39000000 | log << 30 | kind << 22 | off >> log << 10 | rn << 5 | rt);
}

/* Access memory at an unscaled offset @off, -256 to 255. */
static inline void a_mem_unscaled(struct nb_jit_ctx *c, unsigned kind, unsigned log, unsigned rt,
				  unsigned rn, int32_t off)
{
	a4(c, 0x38000000 | log << 30 | kind << 22 | ((uint32_t)off & 0x1ff) << 12 | rn << 5 | rt);
}

static inline void a_mem_reg(struct nb_jit_ctx *c, unsigned kind, unsigned log, unsigned rt,
			     unsigned rn, unsigned rm)
{
	a4(c, 0x38206800 | log << 30 | kind << 22 | rm << 16 | rn << 5 | rt);
}

/* Push two 8-byte registers, so SP moves by 16. */
static inline void a_push_pair(struct nb_jit_ctx *c, unsigned a, unsigned b)
{
	a4(c, 0xa9bf0000 | b << 10 | SP << 5 | a);
}

static inline void a_pop_pair(struct nb_jit_ctx *c, unsigned a, unsigned b)
{
	a4(c, 0xa8c10000 | b << 10 | SP << 5 | a);
}

/* Emit @op, an ordered, exclusive or read-modify-write access of [rn]. */
static inline void a_ordered(struct nb_jit_ctx *c, uint32_t op, unsigned log, unsigned rs,
			     unsigned rt, unsigned rn)
{
	a4(c, op | log << 30 | rs << 16 | rn << 5 | rt);
}

/* Emit @op, A_B or A_BL, which reaches 128 MiB. */
static inline void a_b(struct nb_jit_ctx *c, uint32_t op, int64_t distance)
{
	a4(c, op | ((uint32_t)(distance / 4) & 0x3ffffff));
}

/*
 * Emit a branch that reaches 1 MiB: A_BCOND | cc, A_CBZ | rt or A_CBNZ | rt;
 * A_CBZ and A_CBNZ also take wide_bit().
 */
static inline void a_b19(struct nb_jit_ctx *c, uint32_t op, int64_t distance)
{
	a4(c, op | ((uint32_t)(distance / 4) & 0x7ffff) << 5);
}

/* Emit a forward branch within one slot's code; nb_emit_land sets its
 * target. */
static inline uint32_t a_skip(struct nb_jit_ctx *c, uint32_t op)
{
	a4(c, op);
	return c->pos - 4;
}

#endif
