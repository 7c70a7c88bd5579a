// SPDX-License-Identifier: MIT
/* Loads, stores and atomics on 64-bit Arm. An atomic is one instruction
 * with LSE, otherwise a loop of exclusive accesses. */
#include "core/bpf/exec/jit/arm64.h"

#if defined(__aarch64__)

/* Return log2 of the bytes in memory that the row accesses. */
static unsigned size_log(const struct nb_insn_spec *row)
{
	return (unsigned)__builtin_ctz(row->width / 8u);
}

static void access(struct nb_jit_ctx *c, unsigned kind, unsigned log, unsigned rt, unsigned base,
		   int32_t off)
{
	if (fits_scaled(off, log)) {
		a_mem(c, kind, log, rt, base, (uint32_t)off);
	} else if (off >= -256 && off < 256) {
		a_mem_unscaled(c, kind, log, rt, base, off);
	} else {
		nb_emit_const(c, T1, (uint64_t)(int64_t)off);
		a_mem_reg(c, kind, log, rt, base, T1);
	}
}

/* Put reg + off into a register, for instructions that take no offset. */
static unsigned address(struct nb_jit_ctx *c, unsigned reg, int32_t off)
{
	if (!off)
		return reg_of(reg);
	nb_arm_add_const(c, true, A_ADD, T1, reg_of(reg), off);
	return T1;
}

void nb_emit_load(struct nb_jit_ctx *c, const struct nb_code *i, const struct nb_insn_spec *row)
{
	unsigned kind = row->traits & NB_INSN_SIGNED ? A_LOAD_SIGNED : A_LOAD;

	if (row->traits & NB_INSN_ORDERED)
		a_ordered(c, A_LDAR, size_log(row), 0, reg_of(i->dst), address(c, i->src, i->off));
	else
		access(c, kind, size_log(row), reg_of(i->dst), reg_of(i->src), i->off);
}

/* Put @v into T0 and return T0, or return the register that is always 0. */
static unsigned arm64_value_register(struct nb_jit_ctx *c, uint64_t v)
{
	if (v)
		nb_emit_const(c, T0, v);
	return v ? T0 : ZR;
}

void nb_emit_store(struct nb_jit_ctx *c, const struct nb_code *i, const struct nb_insn_spec *row)
{
	unsigned value = row->operand == NB_OPND_REG
				 ? reg_of(i->src)
				 : arm64_value_register(c, (uint64_t)i->imm & ones(row->width));

	if (row->traits & NB_INSN_ORDERED)
		a_ordered(c, A_STLR, size_log(row), 0, value, address(c, i->dst, i->off));
	else
		access(c, A_STORE, size_log(row), value, reg_of(i->dst), i->off);
}

struct mem nb_emit_run(const struct nb_jit_ctx *c, size_t off)
{
	return (struct mem){ c->needs.calls_local ? RUN : SP, (int32_t)off };
}

/* Return the address of loop data above the return address. */
struct mem nb_emit_loop(size_t off)
{
	return (struct mem){ FRAME, RETURN + (int32_t)off };
}

static uint32_t piece(uint64_t v, unsigned i)
{
	return v >> 16 * i & 0xffff;
}

/* Load a constant in the shortest way: one logical immediate, or 16 bits at
 * a time into zeros or into ones. */
void nb_emit_const(struct nb_jit_ctx *c, unsigned rd, uint64_t v)
{
	unsigned zeros = 0, full = 0, first = 0;
	bool w = v > UINT32_MAX, invert;
	uint32_t fields;

	for (unsigned i = 0; i < 4; i++) {
		zeros += piece(v, i) == 0;
		full += piece(v, i) == 0xffff;
	}
	invert = full > zeros;
	if ((invert ? full : zeros) < 3 && bitmask(v, w, &fields)) {
		a_logical_imm(c, w, A_ORR, rd, ZR, fields);
		return;
	}
	while (first < 3 && piece(v, first) == (invert ? 0xffffu : 0))
		first++;
	a4(c, (invert ? A_MOVN : A_MOVZ) | wide_bit(true) | first << 21 |
		      (piece(v, first) ^ (invert ? 0xffffu : 0)) << 5 | rd);
	for (unsigned i = first + 1; i < 4; i++)
		if (piece(v, i) != (invert ? 0xffffu : 0))
			a4(c, A_MOVK | wide_bit(true) | i << 21 | piece(v, i) << 5 | rd);
}

void nb_emit_move(struct nb_jit_ctx *c, bool w, unsigned to, unsigned from)
{
	if (!w || to != from)
		a_mov(c, w, to, from);
}

void nb_emit_address(struct nb_jit_ctx *c, unsigned to, struct mem m)
{
	a_add_imm(c, true, A_ADD, to, m.base, (uint32_t)m.off);
}

void nb_emit_get(struct nb_jit_ctx *c, unsigned log, unsigned to, struct mem m)
{
	access(c, A_LOAD, log, to, m.base, m.off);
}

void nb_emit_put(struct nb_jit_ctx *c, unsigned log, unsigned from, struct mem m)
{
	access(c, A_STORE, log, from, m.base, m.off);
}

void nb_emit_put_const(struct nb_jit_ctx *c, unsigned log, struct mem m, uint32_t v)
{
	nb_emit_put(c, log, arm64_value_register(c, v), m);
}

void nb_emit_get_thread(struct nb_jit_ctx *c, int32_t off)
{
	a4(c, A_MRS_TPIDR | T0);
	nb_emit_const(c, T1, (uint64_t)(int64_t)off);
	a_mem_reg(c, A_LOAD, 2, T0, T0, T1);
}

void nb_emit_get_and_count(struct nb_jit_ctx *c, unsigned to, struct mem m)
{
	nb_emit_get(c, 2, to, m);
	a_add_imm(c, false, A_ADD, T0, to, 1);
	nb_emit_put(c, 2, T0, m);
}

/* Emit an atomic as one instruction, acquire and release. The old value
 * goes to src or T2. */
static void with_lse(struct nb_jit_ctx *c, const struct nb_code *i, const struct nb_insn_spec *row,
		     unsigned at)
{
	unsigned src = reg_of(i->src), log = size_log(row), by = src;

	if (row->fn == NB_FN_CMPXCHG) {
		a_ordered(c, A_CAS, log, R0, src, at);
		return;
	}
	/* LDCLR clears the bits that are set in its operand. */
	if (op_of[row->fn].lse == A_LDCLR) {
		by = T2;
		a_rrr(c, true, A_ORN, by, ZR, src);
	}
	a_ordered(c, op_of[row->fn].lse, log, by, row->traits & NB_INSN_FETCH ? src : T2, at);
}

/* Emit an atomic as a loop of exclusive accesses: T2 is the old value, T3
 * the new one, and T0 says whether the loop must try again. */
static void with_loop(struct nb_jit_ctx *c, const struct nb_code *i, const struct nb_insn_spec *row,
		      unsigned at)
{
	unsigned src = reg_of(i->src), log = size_log(row), value = T3;
	uint32_t again = c->pos, differs = 0;
	bool w = row->width == 64, compares = row->writes & NB_REGS_R0;

	a_ordered(c, A_LDAXR, log, 0, T2, at);
	if (compares) {
		a_rrr(c, w, A_SUBS, ZR, T2, R0);
		differs = a_skip(c, A_BCOND | CC_NE);
	}
	if (compares || row->fn == NB_FN_XCHG)
		value = src;
	else
		a_rrr(c, w, op_of[row->fn].alu, T3, T2, src);
	a_ordered(c, A_STLXR, log, T0, value, at);
	a_b19(c, A_CBNZ | T0, (int64_t)again - c->pos);
	if (compares)
		nb_emit_land(c, differs);
	a4(c, A_DMB);
	if (compares)
		a_mov(c, w, R0, T2);
	else if (row->traits & NB_INSN_FETCH)
		a_mov(c, w, src, T2);
}

void nb_emit_atomic(struct nb_jit_ctx *c, const struct nb_code *i, const struct nb_insn_spec *row)
{
	unsigned at = address(c, i->dst, i->off);

	if (c->features & FEATURE_LSE)
		with_lse(c, i, row, at);
	else
		with_loop(c, i, row, at);
}

#endif
