// SPDX-License-Identifier: MIT
// Jumps and arithmetic on x86-64. Division wants RAX and RDX, shifts without
// BMI2 want RCX: they are moved aside and back.
#include "core/exec/jit/x86_64_alu.h"

#if defined(__x86_64__)

/* ---- jumps ------------------------------------------------------------- */

/* @cc: a condition, or CC_ALWAYS. */
enum { CC_ALWAYS = 0x10 };

static void jump_if(struct nb_jit_ctx *c, uint32_t pc, unsigned cc)
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

bool nb_x86_reaches(int64_t distance)
{
	return fits8(distance);
}

/* By NB_ORDER_*; NONE: JSET, after TEST. */
static const uint8_t condition_of[NB_NORDERS] = {
	[NB_ORDER_NONE] = CC_NE, [NB_ORDER_EQ] = CC_E,	 [NB_ORDER_NE] = CC_NE,
	[NB_ORDER_LT] = CC_B,	 [NB_ORDER_LE] = CC_BE,	 [NB_ORDER_GT] = CC_A,
	[NB_ORDER_GE] = CC_AE,	 [NB_ORDER_SLT] = CC_L,	 [NB_ORDER_SLE] = CC_LE,
	[NB_ORDER_SGT] = CC_G,	 [NB_ORDER_SGE] = CC_GE,
};

void nb_x86_compare_and_jump(struct nb_jit_ctx *c, uint32_t pc,
			     const struct nb_insn_spec *row)
{
	const struct nb_code *i = &c->code[pc];
	unsigned a = reg_of[i->dst], b = reg_of[i->src];
	bool w = row->width == 64;
	int32_t imm = (int32_t)i->imm;

	if (row->operand == NB_OPND_REG && row->fn == NB_FN_JSET)
		x_test(c, w, a, b);
	else if (row->operand == NB_OPND_REG)
		x_alu(c, w, X_CMP, a, b);
	else if (row->fn == NB_FN_JSET)
		x_test_imm(c, w, a, imm);
	else if (imm == 0)
		x_test(c, w, a, a);
	else
		x_alu_imm(c, w, X_CMP, a, imm);
	jump_if(c, pc, condition_of[nb_spec_fn(row->fn)->holds]);
}

void nb_x86_may_goto(struct nb_jit_ctx *c, uint32_t pc)
{
	struct mem passes = run_data(c, RUN_PASSES);

	op_rm(c, false, 0x83, X_CMP, passes);
	e1(c, 0);
	jump_if(c, pc, CC_E);
	op_rm(c, false, 0xff, 1, passes); /* DEC */
}

void nb_x86_jump(struct nb_jit_ctx *c, uint32_t pc)
{
	jump_if(c, pc, CC_ALWAYS);
}

/* ---- division ---------------------------------------------------------- */

struct division {
	unsigned dst, divisor; /* machine registers */
	bool w, with_sign, mod;
};

/* The quotient is 0; the remainder is the dividend, cut to its width. */
static void by_zero(struct nb_jit_ctx *c, const struct division *d)
{
	if (!d->mod)
		x_mov_imm(c, d->dst, 0);
	else if (!d->w)
		x_mov(c, false, d->dst, d->dst);
}

/* By -1: no trap for the least number, which DIV would raise. */
static void by_minus_one(struct nb_jit_ctx *c, const struct division *d)
{
	if (d->mod)
		x_mov_imm(c, d->dst, 0);
	else
		x_unary(c, d->w, X_NEG, d->dst);
}

/* RDX:RAX by the divisor, which is neither of the two. */
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
		e1(c, 0x99); /* CDQ, CQO */
	} else {
		x_mov_imm(c, RDX, 0);
	}
	x_unary(c, d->w, d->with_sign ? X_IDIV : X_DIV, d->divisor);
	if (d->dst != (d->mod ? RDX : RAX))
		x_mov(c, d->w, d->dst, d->mod ? RDX : RAX);
	if (d->dst != RAX)
		x_mov(c, true, RAX, R10);
	if (d->dst != RDX)
		x_mov(c, true, RDX, RDI);
}

static struct division division_of(const struct nb_code *i,
				   const struct nb_insn_spec *row)
{
	return (struct division){
		.dst = reg_of[i->dst],
		.w = row->width == 64,
		.with_sign = row->traits & NB_INSN_SIGNED,
		.mod = row->fn == NB_FN_MOD || row->fn == NB_FN_SMOD,
	};
}

static void divide_by_reg(struct nb_jit_ctx *c, uint32_t pc,
			  const struct nb_insn_spec *row)
{
	const struct nb_code *i = &c->code[pc];
	struct division d = division_of(i, row);
	bool nonzero = c->fact[pc].flags & NB_JIT_NONZERO;
	uint32_t zero = 0, minus_one = 0, end;

	d.divisor = reg_of[i->src];
	if (d.divisor == RAX || d.divisor == RDX) {
		x_mov(c, true, R11, d.divisor);
		d.divisor = R11;
	}
	if (!nonzero) {
		x_test(c, d.w, d.divisor, d.divisor);
		zero = x_skip_if(c, CC_E);
	}
	if (d.with_sign) {
		x_alu_imm(c, d.w, X_CMP, d.divisor, -1);
		minus_one = x_skip_if(c, CC_E);
	}
	divide(c, &d);
	if (nonzero && !d.with_sign)
		return;
	end = x_skip(c, 0xeb);
	if (!nonzero) {
		x_land(c, zero);
		by_zero(c, &d);
	}
	if (d.with_sign) {
		uint32_t end2 = 0;

		if (!nonzero)
			end2 = x_skip(c, 0xeb);
		x_land(c, minus_one);
		by_minus_one(c, &d);
		if (!nonzero)
			x_land(c, end2);
	}
	x_land(c, end);
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
			x_shift_imm(c, d.w, X_SHR, d.dst,
				    (unsigned)__builtin_ctzll(k));
	} else {
		x_mov_imm(c, R11, k);
		d.divisor = R11;
		divide(c, &d);
	}
}

/* ---- shifts ------------------------------------------------------------ */

/* The count must be in CL, which is r3's. */
static void shift_by_cl(struct nb_jit_ctx *c, bool w, unsigned op, unsigned dst,
			unsigned src)
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

static void shift(struct nb_jit_ctx *c, const struct nb_code *i,
		  const struct nb_insn_spec *row)
{
	unsigned dst = reg_of[i->dst], src = reg_of[i->src], n;
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

/* ---- the other arithmetic ---------------------------------------------- */

static void binary(struct nb_jit_ctx *c, const struct nb_code *i,
		   const struct nb_insn_spec *row, unsigned op)
{
	bool w = row->width == 64;

	if (row->operand == NB_OPND_REG)
		x_alu(c, w, op, reg_of[i->dst], reg_of[i->src]);
	else
		x_alu_imm(c, w, op, reg_of[i->dst], (int32_t)i->imm);
}

static void multiply(struct nb_jit_ctx *c, const struct nb_code *i,
		     const struct nb_insn_spec *row)
{
	bool w = row->width == 64;

	if (row->operand == NB_OPND_REG)
		x_imul(c, w, reg_of[i->dst], reg_of[i->src]);
	else
		x_imul_imm(c, w, reg_of[i->dst], (int32_t)i->imm);
}

static void move(struct nb_jit_ctx *c, const struct nb_code *i,
		 const struct nb_insn_spec *row)
{
	unsigned dst = reg_of[i->dst];
	bool w = row->width == 64;

	if (row->operand == NB_OPND_IMM)
		x_mov_imm(c, dst, w ? (uint64_t)i->imm : (uint32_t)i->imm);
	else if (w && i->src == NB_R10 && !frame_in_rbp(c))
		x_lea(c, dst, address(c, NB_R10, 0));
	else if (!w || i->dst != i->src)
		x_mov(c, w, dst, reg_of[i->src]);
}

/* LE cuts off, BE and BSWAP swap; 16 and 32 bits are zero-extended. */
static void swap(struct nb_jit_ctx *c, const struct nb_code *i,
		 const struct nb_insn_spec *row)
{
	unsigned dst = reg_of[i->dst];
	bool le = row->fn == NB_FN_LE;

	if (row->width == 16) {
		if (!le) {
			e1(c, 0x66);
			x_shift_imm(c, false, X_ROL, dst, 8);
		}
		op_rr(c, false, 0x0fb7, dst, dst); /* MOVZX */
	} else if (!le) {
		x_bswap(c, row->width == 64, dst);
	} else if (row->width == 32) {
		x_mov(c, false, dst, dst);
	}
}

void nb_x86_alu(struct nb_jit_ctx *c, uint32_t pc,
		const struct nb_insn_spec *row)
{
	const struct nb_code *i = &c->code[pc];
	unsigned dst = reg_of[i->dst], src = reg_of[i->src];
	bool w = row->width == 64;

	switch ((int)row->fn) {
	case NB_FN_ADD:
		binary(c, i, row, X_ADD);
		break;
	case NB_FN_SUB:
		binary(c, i, row, X_SUB);
		break;
	case NB_FN_OR:
		binary(c, i, row, X_OR);
		break;
	case NB_FN_AND:
		binary(c, i, row, X_AND);
		break;
	case NB_FN_XOR:
		binary(c, i, row, X_XOR);
		break;
	case NB_FN_MUL:
		multiply(c, i, row);
		break;
	case NB_FN_DIV:
	case NB_FN_MOD:
	case NB_FN_SDIV:
	case NB_FN_SMOD:
		if (row->operand == NB_OPND_REG)
			divide_by_reg(c, pc, row);
		else
			divide_by_imm(c, i, row);
		break;
	case NB_FN_LSH:
	case NB_FN_RSH:
	case NB_FN_ARSH:
		shift(c, i, row);
		break;
	case NB_FN_MOV:
		move(c, i, row);
		break;
	case NB_FN_MOVSX8:
		op_rr8(c, w, 0x0fbe, dst, src);
		break;
	case NB_FN_MOVSX16:
		op_rr(c, w, 0x0fbf, dst, src);
		break;
	case NB_FN_MOVSX32:
		op_rr(c, w, 0x63, dst, src);
		break;
	case NB_FN_NEG:
		x_unary(c, w, X_NEG, dst);
		break;
	case NB_FN_LE:
	case NB_FN_BE:
	case NB_FN_BSWAP:
		swap(c, i, row);
		break;
	}
}

void nb_x86_constant(struct nb_jit_ctx *c, unsigned reg, uint64_t v)
{
	x_mov_imm(c, reg_of[reg], v);
}

/* One LEA. */
bool nb_x86_copy_and_add(struct nb_jit_ctx *c, const struct nb_code *i,
			 int64_t k)
{
	/* the frame's distance from RSP is added to it */
	if (i->src == NB_R10 && (k < -NB_STACK_SIZE || k > 0))
		return false;
	x_lea(c, reg_of[i->dst], address(c, i->src, (int32_t)k));
	return true;
}

#endif
