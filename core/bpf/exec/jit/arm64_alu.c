// SPDX-License-Identifier: MIT
/* Jumps and arithmetic on 64-bit Arm. An immediate that no instruction can
 * encode goes through T0. */
#include "core/bpf/exec/jit/arm64.h"

#if defined(__aarch64__)

/* @cc is a machine condition or CC_ALWAYS. The long form of a conditional
 * jump skips an unconditional one. */
enum { CC_ALWAYS = 14 };

static void arm64_jump_if(struct nb_jit_ctx *c, uint32_t pc, unsigned cc)
{
	int64_t to = c->off[nb_jit_target(c, pc)];

	if (cc == CC_ALWAYS) {
		a_b(c, A_B, to - c->pos);
	} else if (c->shorter[pc]) {
		a_b19(c, A_BCOND | cc, to - c->pos);
	} else {
		a_b19(c, A_BCOND | (cc ^ 1), 8);
		a_b(c, A_B, to - c->pos);
	}
	c->jump_end[pc] = c->pos;
}

bool nb_emit_reaches(int64_t distance)
{
	return distance > -(1 << 20) + 16 && distance < (1 << 20) - 16;
}

const uint8_t nb_arm_condition[NB_NORDERS] = {
	[NB_ORDER_NONE] = CC_NE, [NB_ORDER_EQ] = CC_EQ,	 [NB_ORDER_NE] = CC_NE,
	[NB_ORDER_LT] = CC_LO,	 [NB_ORDER_LE] = CC_LS,	 [NB_ORDER_GT] = CC_HI,
	[NB_ORDER_GE] = CC_HS,	 [NB_ORDER_SLT] = CC_LT, [NB_ORDER_SLE] = CC_LE,
	[NB_ORDER_SGT] = CC_GT,	 [NB_ORDER_SGE] = CC_GE,
};

/* Return a register that holds the second operand: src, or T0 with the
 * immediate. */
static unsigned arm64_second_operand(struct nb_jit_ctx *c, const struct nb_code *i,
				     const struct nb_insn_spec *row)
{
	if (row->operand == NB_OPND_REG)
		return reg_of(i->src);
	nb_emit_const(c, T0, row->width == 64 ? (uint64_t)i->imm : (uint32_t)i->imm);
	return T0;
}

/* Emit "dst op imm", without a register for the immediate if it can be
 * encoded. */
static void logical(struct nb_jit_ctx *c, const struct nb_code *i, const struct nb_insn_spec *row,
		    uint32_t op, unsigned rd)
{
	bool w = row->width == 64;
	uint32_t fields;

	if (row->operand == NB_OPND_IMM && bitmask((uint64_t)i->imm, w, &fields))
		a_logical_imm(c, w, op, rd, reg_of(i->dst), fields);
	else
		a_rrr(c, w, op, rd, reg_of(i->dst), arm64_second_operand(c, i, row));
}

static void compare(struct nb_jit_ctx *c, const struct nb_code *i, const struct nb_insn_spec *row)
{
	bool w = row->width == 64;

	if (row->operand == NB_OPND_IMM && i->imm >= 0 && fits12((uint64_t)i->imm))
		a_add_imm(c, w, A_SUBS, ZR, reg_of(i->dst), (uint32_t)i->imm);
	else
		a_rrr(c, w, A_SUBS, ZR, reg_of(i->dst), arm64_second_operand(c, i, row));
}

void nb_emit_compare_and_jump(struct nb_jit_ctx *c, uint32_t pc, const struct nb_insn_spec *row)
{
	const struct nb_code *i = &c->code[pc];
	const unsigned holds = nb_spec_fn(row->fn)->holds;

	if (!holds)
		logical(c, i, row, A_ANDS, ZR);
	else
		compare(c, i, row);
	arm64_jump_if(c, pc, nb_arm_condition[holds]);
}

void nb_emit_may_goto(struct nb_jit_ctx *c, uint32_t pc)
{
	const struct mem passes = nb_emit_run(c, NB_JIT_RUN_PASSES);

	nb_emit_get(c, 2, T0, passes);
	a_add_imm(c, false, A_SUBS, ZR, T0, 0);
	arm64_jump_if(c, pc, CC_EQ);
	a_add_imm(c, false, A_SUB, T0, T0, 1);
	nb_emit_put(c, 2, T0, passes);
}

void nb_emit_jump(struct nb_jit_ctx *c, uint32_t pc)
{
	arm64_jump_if(c, pc, CC_ALWAYS);
}

void nb_arm_add_const(struct nb_jit_ctx *c, bool w, uint32_t op, unsigned dst, unsigned src,
		      int64_t imm)
{
	/* Subtract the negated immediate, if it can be encoded. */
	if (imm < 0) {
		uint64_t minus = -(uint64_t)imm;

		if (fits12(minus)) {
			a_add_imm(c, w, op == A_ADD ? A_SUB : A_ADD, dst, src, (uint32_t)minus);
			return;
		}
	} else if (fits12((uint64_t)imm)) {
		a_add_imm(c, w, op, dst, src, (uint32_t)imm);
		return;
	}
	nb_emit_const(c, T0, w ? (uint64_t)imm : (uint32_t)imm);
	a_rrr(c, w, op, dst, src, T0);
}

/*
 * The machine divides like BPF: division by zero gives 0, so the remainder
 * by zero is the dividend. The least number divided by -1 gives itself,
 * with remainder 0.
 */
void nb_emit_divide(struct nb_jit_ctx *c, uint32_t pc, const struct nb_insn_spec *row)
{
	const struct nb_code *i = &c->code[pc];
	bool with_sign = row->traits & NB_INSN_SIGNED;
	bool mod = row->traits & NB_INSN_MODULO;
	unsigned dst = reg_of(i->dst), by;
	bool w = row->width == 64;
	uint64_t k = w ? (uint64_t)i->imm : (uint32_t)i->imm;
	uint32_t fields;

	if (row->operand == NB_OPND_IMM && !with_sign && nb_jit_power_of_two(k)) {
		if (!mod)
			a_shift_imm(c, w, A_LSR, dst, dst, (unsigned)__builtin_ctzll(k));
		else if (bitmask(k - 1, w, &fields))
			a_logical_imm(c, w, A_AND, dst, dst, fields);
		else /* The remainder of a division by 1 is 0. */
			a_mov(c, true, dst, ZR);
		return;
	}
	by = arm64_second_operand(c, i, row);
	a_rrr(c, w, with_sign ? A_SDIV : A_UDIV, mod ? T1 : dst, dst, by);
	if (mod)
		a_msub(c, w, dst, T1, by, dst);
}

void nb_emit_shift(struct nb_jit_ctx *c, const struct nb_code *i, const struct nb_insn_spec *row)
{
	uint32_t op = op_of[row->fn].alu;
	unsigned dst = reg_of(i->dst);
	bool w = row->width == 64;

	if (row->operand == NB_OPND_REG)
		a_rrr(c, w, op, dst, dst, reg_of(i->src));
	else
		a_shift_imm(c, w, op, dst, dst, (unsigned)i->imm & (row->width - 1u));
}

void nb_emit_copy(struct nb_jit_ctx *c, const struct nb_code *i, const struct nb_insn_spec *row)
{
	unsigned dst = reg_of(i->dst);
	bool w = row->width == 64;

	if (row->operand == NB_OPND_IMM)
		nb_emit_const(c, dst, w ? (uint64_t)i->imm : (uint32_t)i->imm);
	else if (!w || i->dst != i->src)
		a_mov(c, w, dst, reg_of(i->src));
}

void nb_emit_binary(struct nb_jit_ctx *c, const struct nb_code *i, const struct nb_insn_spec *row)
{
	uint32_t op = op_of[row->fn].alu;
	unsigned dst = reg_of(i->dst);
	bool w = row->width == 64;

	if (!(row->traits & NB_INSN_SUM))
		logical(c, i, row, op, dst);
	else if (row->operand == NB_OPND_REG)
		a_rrr(c, w, op, dst, dst, reg_of(i->src));
	else
		nb_arm_add_const(c, w, op, dst, dst, w ? i->imm : (int32_t)i->imm);
}

void nb_emit_multiply(struct nb_jit_ctx *c, const struct nb_code *i, const struct nb_insn_spec *row)
{
	unsigned dst = reg_of(i->dst);

	a_madd(c, row->width == 64, dst, dst, arm64_second_operand(c, i, row), ZR);
}

void nb_emit_extend(struct nb_jit_ctx *c, bool w, unsigned to, unsigned from, unsigned bits)
{
	a_bitfield(c, w, A_SBFM, to, from, 0, bits - 1);
}

void nb_emit_negate(struct nb_jit_ctx *c, bool w, unsigned reg)
{
	a_rrr(c, w, A_SUB, reg, ZR, reg);
}

void nb_emit_swap(struct nb_jit_ctx *c, unsigned reg, unsigned width, bool le)
{
	if (width == 16) {
		if (!le)
			a_rr(c, false, A_REV16, reg, reg);
		a_bitfield(c, false, A_UBFM, reg, reg, 0, 15);
	} else if (width == 32 && le) {
		a_mov(c, false, reg, reg);
	} else if (!le) {
		a_rr(c, width == 64, width == 64 ? A_REV64 : A_REV32, reg, reg);
	}
}

/* Emit "dst = src + k" as one addition. */
bool nb_emit_copy_and_add(struct nb_jit_ctx *c, const struct nb_code *i, int64_t k)
{
	nb_arm_add_const(c, true, A_ADD, reg_of(i->dst), reg_of(i->src), k);
	return true;
}

#endif
