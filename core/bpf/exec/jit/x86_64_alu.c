// SPDX-License-Identifier: MIT
/* Jumps and arithmetic on x86-64. Division needs RAX and RDX, and shifts
 * without BMI2 need RCX: the code saves and restores these registers. */
#include "core/bpf/exec/jit/x86_64.h"

#if defined(__x86_64__)

/* @cc is a machine condition or CC_ALWAYS. */
enum { CC_ALWAYS = 0x10 };

static void x86_jump_if(struct nb_jit_ctx *c, uint32_t pc, unsigned cc)
{
	uint32_t to = c->off[nb_jit_target(c, pc)];

	if (c->shorter[pc]) {
		e1(c, cc == CC_ALWAYS ? 0xeb : 0x70 | cc);
		e1(c, (uint8_t)(to - (c->pos + 1)));
	} else if (cc == CC_ALWAYS) {
		e1(c, 0xe9);
		e4(c, to - (c->pos + 4));
	} else {
		opcode(c, 0x0f80 | cc);
		e4(c, to - (c->pos + 4));
	}
	c->jump_end[pc] = c->pos;
}

bool nb_emit_reaches(int64_t distance)
{
	return fits8(distance);
}

const uint8_t nb_x86_condition[NB_NORDERS] = {
	[NB_ORDER_NONE] = CC_NE, [NB_ORDER_EQ] = CC_E,	 [NB_ORDER_NE] = CC_NE,
	[NB_ORDER_LT] = CC_B,	 [NB_ORDER_LE] = CC_BE,	 [NB_ORDER_GT] = CC_A,
	[NB_ORDER_GE] = CC_AE,	 [NB_ORDER_SLT] = CC_L,	 [NB_ORDER_SLE] = CC_LE,
	[NB_ORDER_SGT] = CC_G,	 [NB_ORDER_SGE] = CC_GE,
};

void nb_emit_compare_and_jump(struct nb_jit_ctx *c, uint32_t pc, const struct nb_insn_spec *row)
{
	const struct nb_code *i = &c->code[pc];
	unsigned a = reg_of(i->dst), b = reg_of(i->src);
	bool w = row->width == 64;
	int32_t imm = (int32_t)i->imm;
	const unsigned holds = nb_spec_fn(row->fn)->holds;

	if (row->operand == NB_OPND_REG && !holds)
		x_test(c, w, a, b);
	else if (row->operand == NB_OPND_REG)
		x_alu(c, w, X_CMP, a, b);
	else if (!holds)
		x_test_imm(c, w, a, imm);
	else if (imm == 0)
		x_test(c, w, a, a);
	else
		x_alu_imm(c, w, X_CMP, a, imm);
	x86_jump_if(c, pc, nb_x86_condition[holds]);
}

void nb_emit_may_goto(struct nb_jit_ctx *c, uint32_t pc)
{
	struct mem passes = nb_emit_run(c, NB_JIT_RUN_PASSES);

	op_rm(c, false, 0x83, X_CMP, passes);
	e1(c, 0);
	x86_jump_if(c, pc, CC_E);
	/* Decrement the count of remaining may_goto iterations (DEC). */
	op_rm(c, false, 0xff, 1, passes);
}

void nb_emit_jump(struct nb_jit_ctx *c, uint32_t pc)
{
	x86_jump_if(c, pc, CC_ALWAYS);
}

struct division {
	unsigned dst, divisor; /* Machine registers of the operands. */
	bool w, with_sign, mod;
};

/* Emit a division by zero: the quotient is 0, and the remainder is the
 * dividend, truncated to its width. */
static void by_zero(struct nb_jit_ctx *c, const struct division *d)
{
	if (!d->mod)
		nb_emit_const(c, d->dst, 0);
	else if (!d->w)
		x_mov(c, false, d->dst, d->dst);
}

/* Emit a division by -1, without the trap that DIV raises for the least
 * number. */
static void by_minus_one(struct nb_jit_ctx *c, const struct division *d)
{
	if (d->mod)
		nb_emit_const(c, d->dst, 0);
	else
		x_unary(c, d->w, X_NEG, d->dst);
}

/* Emit the division of RDX:RAX by the divisor, which is in neither of the
 * two. */
static void divide(struct nb_jit_ctx *c, const struct division *d)
{
	if (d->dst != RAX)
		x_mov(c, true, R10, RAX);
	if (d->dst != RDX)
		x_mov(c, true, RDI, RDX);
	if (d->dst != RAX)
		x_mov(c, true, RAX, d->dst);
	if (d->with_sign) {
		rex(c, d->w, 0, 0, false);
		e1(c, 0x99); /* The instruction CDQ or CQO */
	} else {
		nb_emit_const(c, RDX, 0);
	}
	x_unary(c, d->w, d->with_sign ? X_IDIV : X_DIV, d->divisor);
	if (d->dst != (d->mod ? RDX : RAX))
		x_mov(c, d->w, d->dst, d->mod ? RDX : RAX);
	if (d->dst != RAX)
		x_mov(c, true, RAX, R10);
	if (d->dst != RDX)
		x_mov(c, true, RDX, RDI);
}

static struct division division_of(const struct nb_code *i, const struct nb_insn_spec *row)
{
	return (struct division){
		.dst = reg_of(i->dst),
		.w = row->width == 64,
		.with_sign = row->traits & NB_INSN_SIGNED,
		.mod = row->traits & NB_INSN_MODULO,
	};
}

static void divide_by_reg(struct nb_jit_ctx *c, uint32_t pc, const struct nb_insn_spec *row)
{
	const struct nb_code *i = &c->code[pc];
	struct division d = division_of(i, row);
	bool nonzero = c->fact[pc].flags & NB_JIT_NONZERO;
	uint32_t zero = 0, minus_one = 0, end;

	d.divisor = reg_of(i->src);
	if (d.divisor == RAX || d.divisor == RDX) {
		x_mov(c, true, R11, d.divisor);
		d.divisor = R11;
	}
	if (!nonzero) {
		x_test(c, d.w, d.divisor, d.divisor);
		zero = x_skip_if(c, CC_E, false);
	}
	if (d.with_sign) {
		x_alu_imm(c, d.w, X_CMP, d.divisor, -1);
		minus_one = x_skip_if(c, CC_E, false);
	}
	divide(c, &d);
	if (nonzero && !d.with_sign)
		return;
	end = nb_emit_skip(c, false);
	if (!nonzero) {
		nb_emit_land(c, zero);
		by_zero(c, &d);
	}
	if (d.with_sign) {
		uint32_t end2 = 0;

		if (!nonzero)
			end2 = nb_emit_skip(c, false);
		nb_emit_land(c, minus_one);
		by_minus_one(c, &d);
		if (!nonzero)
			nb_emit_land(c, end2);
	}
	nb_emit_land(c, end);
}

static void divide_by_imm(struct nb_jit_ctx *c, const struct nb_code *i,
			  const struct nb_insn_spec *row)
{
	struct division d = division_of(i, row);
	uint64_t k = d.w ? (uint64_t)i->imm : (uint32_t)i->imm;

	if (k == 0) {
		by_zero(c, &d);
	} else if (d.with_sign && i->imm == -1) {
		by_minus_one(c, &d);
	} else if (!d.with_sign && nb_jit_power_of_two(k) && d.mod) {
		x_alu_imm(c, d.w, X_AND, d.dst, (int32_t)(k - 1));
	} else if (!d.with_sign && nb_jit_power_of_two(k)) {
		if (k == 1 && !d.w)
			x_mov(c, false, d.dst, d.dst);
		else if (k > 1)
			x_shift_imm(c, d.w, X_SHR, d.dst, (unsigned)__builtin_ctzll(k));
	} else {
		nb_emit_const(c, R11, k);
		d.divisor = R11;
		divide(c, &d);
	}
}

void nb_emit_divide(struct nb_jit_ctx *c, uint32_t pc, const struct nb_insn_spec *row)
{
	if (row->operand == NB_OPND_REG)
		divide_by_reg(c, pc, row);
	else
		divide_by_imm(c, &c->code[pc], row);
}

/* Emit a shift whose count must be in CL, a part of the register of r3. */
static void shift_by_cl(struct nb_jit_ctx *c, bool w, unsigned op, unsigned dst, unsigned src)
{
	bool moved = dst == RCX || src != RCX;

	if (moved)
		x_mov(c, true, R11, RCX);
	if (src != RCX)
		x_mov(c, false, RCX, src);
	x_shift_cl(c, w, op, dst == RCX ? R11 : dst);
	if (moved)
		x_mov(c, true, RCX, R11);
}

void nb_emit_shift(struct nb_jit_ctx *c, const struct nb_code *i, const struct nb_insn_spec *row)
{
	unsigned dst = reg_of(i->dst), src = reg_of(i->src), n;
	unsigned op = op_of[row->fn];
	bool w = row->width == 64;

	if (row->operand == NB_OPND_REG && c->features & FEATURE_BMI2) {
		x_shiftx(c, w, op, dst, src);
	} else if (row->operand == NB_OPND_REG) {
		shift_by_cl(c, w, op, dst, src);
	} else {
		n = (unsigned)i->imm & (row->width - 1u);
		if (n)
			x_shift_imm(c, w, op, dst, n);
		else if (!w)
			x_mov(c, false, dst, dst);
	}
}

void nb_emit_binary(struct nb_jit_ctx *c, const struct nb_code *i, const struct nb_insn_spec *row)
{
	bool w = row->width == 64;
	unsigned op = op_of[row->fn];

	if (row->operand == NB_OPND_REG)
		x_alu(c, w, op, reg_of(i->dst), reg_of(i->src));
	else
		x_alu_imm(c, w, op, reg_of(i->dst), (int32_t)i->imm);
}

void nb_emit_multiply(struct nb_jit_ctx *c, const struct nb_code *i, const struct nb_insn_spec *row)
{
	bool w = row->width == 64;

	if (row->operand == NB_OPND_REG)
		x_imul(c, w, reg_of(i->dst), reg_of(i->src));
	else
		x_imul_imm(c, w, reg_of(i->dst), (int32_t)i->imm);
}

void nb_emit_copy(struct nb_jit_ctx *c, const struct nb_code *i, const struct nb_insn_spec *row)
{
	unsigned dst = reg_of(i->dst);
	bool w = row->width == 64;

	if (row->operand == NB_OPND_IMM)
		nb_emit_const(c, dst, w ? (uint64_t)i->imm : (uint32_t)i->imm);
	else if (w && i->src == NB_R10 && !frame_in_rbp(c))
		x_lea(c, dst, address(c, NB_R10, 0));
	else if (!w || i->dst != i->src)
		x_mov(c, w, dst, reg_of(i->src));
}

void nb_emit_extend(struct nb_jit_ctx *c, bool w, unsigned to, unsigned from, unsigned bits)
{
	if (bits == 8)
		op_regs(c, w, 0x0fbe, to, from, true);
	else
		op_rr(c, w, bits == 16 ? 0x0fbf : 0x63, to, from);
}

void nb_emit_negate(struct nb_jit_ctx *c, bool w, unsigned reg)
{
	x_unary(c, w, X_NEG, reg);
}

void nb_emit_swap(struct nb_jit_ctx *c, unsigned reg, unsigned width, bool le)
{
	if (width == 16) {
		if (!le) {
			e1(c, 0x66);
			x_shift_imm(c, false, X_ROL, reg, 8);
		}
		op_rr(c, false, 0x0fb7, reg, reg); /* The instruction MOVZX */
	} else if (!le) {
		x_bswap(c, width == 64, reg);
	} else if (width == 32) {
		x_mov(c, false, reg, reg);
	}
}

/* Emit "dst = src + k" as one LEA. */
bool nb_emit_copy_and_add(struct nb_jit_ctx *c, const struct nb_code *i, int64_t k)
{
	/* The frame's distance from RSP is added to k, so k must be a small
	 * offset. */
	if (i->src == NB_R10 && (k < -NB_STACK_SIZE || k > 0))
		return false;
	x_lea(c, reg_of(i->dst), address(c, i->src, (int32_t)k));
	return true;
}

#endif
