// SPDX-License-Identifier: MIT
#ifndef NB_EXEC_JIT_ENC_X86_64_H
#define NB_EXEC_JIT_ENC_X86_64_H

#include <stdbool.h>
#include <stdint.h>

#include "core/bpf/exec/jit/machine.h"

/*
 * Encodings of x86-64 instructions (Intel SDM, volume 2). This file knows
 * nothing of BPF: a function emits one machine instruction at ctx->pos. @w
 * selects 64-bit operands; 32-bit results have a zero upper half.
 */

enum { RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI };
enum { R8 = 8, R9, R10, R11, R12, R13, R14, R15 };

/* Condition codes, as in the low nibble of Jcc. */
enum { CC_B = 0x2, CC_AE = 0x3, CC_E = 0x4, CC_NE = 0x5 };
enum { CC_BE = 0x6, CC_A = 0x7 };
enum { CC_L = 0xc, CC_GE = 0xd, CC_LE = 0xe, CC_G = 0xf }; /* signed */

/* Operations of the arithmetic group: bits 3 to 5 of the opcode "r/m, r",
 * and /n of opcodes 81 and 83. */
enum { X_ADD = 0, X_OR = 1, X_AND = 4, X_SUB = 5, X_XOR = 6, X_CMP = 7 };
/* Values of /n for the shift opcodes D1, C1 and D3. */
enum { X_ROL = 0, X_SHL = 4, X_SHR = 5, X_SAR = 7 };
enum { X_NOT = 2, X_NEG = 3, X_DIV = 6, X_IDIV = 7 };

static inline void e1(struct nb_jit_ctx *c, unsigned b)
{
	if (c->out && c->pos < c->room)
		c->out[c->pos] = (unsigned char)b;
	c->pos++;
}

static inline void e4(struct nb_jit_ctx *c, uint32_t v)
{
	for (int i = 0; i < 4; i++)
		e1(c, v >> 8 * i & 0xff);
}

static inline void e8(struct nb_jit_ctx *c, uint64_t v)
{
	e4(c, (uint32_t)v);
	e4(c, (uint32_t)(v >> 32));
}

static inline bool fits8(int64_t v)
{
	return v == (int8_t)v;
}

/* Emit an immediate of one byte if @v fits it, else of four. */
static inline void e_imm(struct nb_jit_ctx *c, int32_t v)
{
	if (fits8(v))
		e1(c, (uint8_t)v);
	else
		e4(c, (uint32_t)v);
}

static inline bool fits32(int64_t v)
{
	return v == (int32_t)v;
}

/* Emit a REX prefix for operand size, reg and rm. @force: emit it even if
 * it is empty, for byte registers above RBX. */
static inline void rex(struct nb_jit_ctx *c, bool w, unsigned reg, unsigned rm, bool force)
{
	unsigned b = 0x40 | (w ? 8u : 0u) | (reg >> 3) << 2 | rm >> 3;

	if (b != 0x40 || force)
		e1(c, b);
}

/* Emit an opcode of one byte, or one with 0x0f or 0x0f38 before it. */
static inline void opcode(struct nb_jit_ctx *c, unsigned op)
{
	if (op > 0xffff)
		e1(c, op >> 16);
	if (op > 0xff)
		e1(c, op >> 8 & 0xff);
	e1(c, op & 0xff);
}

/* Emit an instruction of two registers, one in reg and one in r/m. @byte: one
 * of them is a byte operand. */
static inline void op_regs(struct nb_jit_ctx *c, bool w, unsigned op, unsigned reg, unsigned rm,
			   bool byte)
{
	rex(c, w, reg, rm, byte);
	opcode(c, op);
	e1(c, 0xc0 | (reg & 7) << 3 | (rm & 7));
}

static inline void op_rr(struct nb_jit_ctx *c, bool w, unsigned op, unsigned reg, unsigned rm)
{
	op_regs(c, w, op, reg, rm, false);
}

/* Emit ModRM, SIB and displacement. RSP and R12 as base need a SIB byte;
 * RBP and R13 have no form without displacement. */
static inline void modrm(struct nb_jit_ctx *c, unsigned reg, struct mem m)
{
	unsigned low = m.base & 7, mod;

	if (m.off == 0 && low != RBP)
		mod = 0;
	else
		mod = fits8(m.off) ? 1 : 2;
	e1(c, mod << 6 | (reg & 7) << 3 | low);
	if (low == RSP)
		e1(c, 0x24);
	if (mod == 1)
		e1(c, (uint8_t)m.off);
	else if (mod == 2)
		e4(c, (uint32_t)m.off);
}

static inline void op_rm(struct nb_jit_ctx *c, bool w, unsigned op, unsigned reg, struct mem m)
{
	rex(c, w, reg, m.base, false);
	opcode(c, op);
	modrm(c, reg, m);
}

static inline void op_rm8(struct nb_jit_ctx *c, unsigned op, unsigned reg, struct mem m)
{
	rex(c, false, reg, m.base, reg >= RSP);
	opcode(c, op);
	modrm(c, reg, m);
}

static inline void x_mov(struct nb_jit_ctx *c, bool w, unsigned to, unsigned from)
{
	op_rr(c, w, 0x89, from, to);
}

/* Load four bytes at @off from the thread pointer, by an absolute address
 * in FS. */
static inline void x_load_thread(struct nb_jit_ctx *c, unsigned to, int32_t off)
{
	e1(c, 0x64);
	rex(c, false, to, 0, false);
	e1(c, 0x8b);
	e1(c, (to & 7) << 3 | RSP);
	e1(c, 0x25);
	e4(c, (uint32_t)off);
}

static inline void x_lea(struct nb_jit_ctx *c, unsigned to, struct mem m)
{
	op_rm(c, true, 0x8d, to, m);
}

/* Emit to = base + index * 8; base is not RBP or R13, and index is not RSP. */
static inline void x_lea8(struct nb_jit_ctx *c, unsigned to, unsigned base, unsigned index)
{
	e1(c, 0x48 | (to >> 3) << 2 | (index >> 3) << 1 | base >> 3);
	e1(c, 0x8d);
	e1(c, (to & 7) << 3 | RSP);
	e1(c, 0xc0 | (index & 7) << 3 | (base & 7));
}

static inline void x_push(struct nb_jit_ctx *c, unsigned reg)
{
	rex(c, false, 0, reg, false);
	e1(c, 0x50 | (reg & 7));
}

static inline void x_pop(struct nb_jit_ctx *c, unsigned reg)
{
	rex(c, false, 0, reg, false);
	e1(c, 0x58 | (reg & 7));
}

static inline void x_alu(struct nb_jit_ctx *c, bool w, unsigned op, unsigned to, unsigned from)
{
	op_rr(c, w, op << 3 | 1, from, to);
}

/* Opcode 83 sign-extends one byte, opcode 81 sign-extends four. */
static inline void x_alu_imm(struct nb_jit_ctx *c, bool w, unsigned op, unsigned to, int32_t imm)
{
	op_rr(c, w, fits8(imm) ? 0x83 : 0x81, op, to);
	e_imm(c, imm);
}

static inline void x_test(struct nb_jit_ctx *c, bool w, unsigned a, unsigned b)
{
	op_rr(c, w, 0x85, b, a);
}

static inline void x_test_imm(struct nb_jit_ctx *c, bool w, unsigned a, int32_t imm)
{
	op_rr(c, w, 0xf7, 0, a);
	e4(c, (uint32_t)imm);
}

static inline void x_imul(struct nb_jit_ctx *c, bool w, unsigned to, unsigned from)
{
	op_rr(c, w, 0x0faf, to, from);
}

static inline void x_imul_imm(struct nb_jit_ctx *c, bool w, unsigned to, int32_t imm)
{
	op_rr(c, w, fits8(imm) ? 0x6b : 0x69, to, to);
	e_imm(c, imm);
}

/* Emit NOT, NEG, or DIV and IDIV of RDX:RAX. */
static inline void x_unary(struct nb_jit_ctx *c, bool w, unsigned op, unsigned reg)
{
	op_rr(c, w, 0xf7, op, reg);
}

static inline void x_shift_imm(struct nb_jit_ctx *c, bool w, unsigned op, unsigned reg, unsigned n)
{
	op_rr(c, w, 0xc1, op, reg);
	e1(c, n);
}

static inline void x_shift_cl(struct nb_jit_ctx *c, bool w, unsigned op, unsigned reg)
{
	op_rr(c, w, 0xd3, op, reg);
}

/* BMI2's SHLX, SHRX, SARX: to = to op count. They change no flags and take
 * any registers. */
static inline void x_shiftx(struct nb_jit_ctx *c, bool w, unsigned op, unsigned to, unsigned count)
{
	unsigned pp = op == X_SHL ? 1 : op == X_SAR ? 2 : 3;

	e1(c, 0xc4);
	e1(c, (to >> 3 ? 0 : 0x80) | 0x40 | (to >> 3 ? 0 : 0x20) | 2);
	e1(c, (unsigned)w << 7 | (~count & 0xf) << 3 | pp);
	e1(c, 0xf7);
	e1(c, 0xc0 | (to & 7) << 3 | (to & 7));
}

static inline void x_bswap(struct nb_jit_ctx *c, bool w, unsigned reg)
{
	rex(c, w, 0, reg, false);
	e1(c, 0x0f);
	e1(c, 0xc8 | (reg & 7));
}

/*
 * Emit a forward jump within one slot's code; nb_emit_land sets its target. A
 * short jump has one byte of opcode and one byte of distance.
 */
#define FAR_SKIP (1u << 31)

static inline uint32_t x_skip_op(struct nb_jit_ctx *c, unsigned op, bool far)
{
	opcode(c, op);
	if (!far) {
		e1(c, 0);
		return c->pos;
	}
	e4(c, 0);
	return c->pos | FAR_SKIP;
}

static inline uint32_t x_skip_if(struct nb_jit_ctx *c, unsigned cc, bool far)
{
	return x_skip_op(c, (far ? 0x0f80u : 0x70u) | cc, far);
}

/* Emit a jump back to @at, an address in the same slot's code. */
static inline void x_back32_if(struct nb_jit_ctx *c, unsigned cc, uint32_t at)
{
	opcode(c, 0x0f80 | cc);
	e4(c, at - (c->pos + 4));
}

/* Emit a jump back by at most 128 bytes. */
static inline void x_back_if(struct nb_jit_ctx *c, unsigned cc, uint32_t at)
{
	e1(c, 0x70 | cc);
	e1(c, (uint8_t)(at - (c->pos + 1)));
}

#endif
