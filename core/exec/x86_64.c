// SPDX-License-Identifier: MIT
// Lowering for x86-64 in the System V calling convention. Registers stand
// where helpers want them: run in RDI, r1 to r5 in the next five argument
// registers, r0 in RAX, r6 to r9 and r10 in registers that calls keep. So a
// helper call is one move and the call. RDI, R10 and R11 are scratch; R13
// points to the run's own data where local calls move the stack.
//
// Stack of a program without local calls, from RSP up: the run's data, the
// frame of 512 bytes, saved registers. With local calls the entry is a stub
// that calls slot 0, every EXIT is a return, and each call site saves r6 to r9
// and makes the callee's frame: that holds whatever code functions share.
#include "core/exec/jit.h"

#if defined(__x86_64__)

#include <cpuid.h>
#include <elf.h>
#include <errno.h>

#include "core/exec/enc_x86_64.h"
#include "core/exec/spin.h"
#include "core/map/ops.h"
#include "core/map/ringbuf.h"

enum { FEATURE_BMI2 = 1 };

/* The run's own data. */
enum {
	RUN_TRACE = offsetof(struct nb_run, trace),
	RUN_CPU = offsetof(struct nb_run, cpu),
	RUN_TAILS = offsetof(struct nb_run, tails),
	RUN_DEPTH = offsetof(struct nb_run, depth),
	RUN_TURNS = offsetof(struct nb_run, turns),
	RUN_NUMBERS = offsetof(struct nb_run, numbers),
	RUN_PASSES = NB_JIT_RUN_PASSES,
	RUN_CTX = NB_JIT_RUN_CTX,
	RUN_SIZE = NB_JIT_RUN_SIZE
};

static const uint8_t reg_of[NB_NREGS] = { RAX, RSI, RDX, RCX, R8, R9,
					  RBX, R14, R15, R12, RBP };

/* r10 is a register only where it is more than a base; otherwise it is a
 * distance from RSP. */
static bool frame_in_rbp(const struct nb_jit_ctx *c)
{
	return c->needs.calls_local || (c->needs.frame && c->needs.frame_value);
}

static int32_t run_size(const struct nb_jit_ctx *c)
{
	return nb_jit_wants_run(c) ? RUN_SIZE : 0;
}

static struct mem run_data(const struct nb_jit_ctx *c, int32_t off)
{
	return (struct mem){ c->needs.calls_local ? R13 : RSP, off };
}

static struct mem address(const struct nb_jit_ctx *c, unsigned reg, int32_t off)
{
	if (reg == NB_R10 && !frame_in_rbp(c))
		return (struct mem){ RSP, run_size(c) + NB_STACK_SIZE + off };
	return (struct mem){ reg_of[reg], off };
}

/* ---- entry and exit ----------------------------------------------------- */

/* Those of r6 to r9 that the program changes, as machine registers. */
static unsigned saved(const struct nb_jit_ctx *c, unsigned list[4])
{
	unsigned n = 0;

	for (unsigned r = 6; r < NB_R10; r++)
		if (c->needs.written >> r & 1)
			list[n++] = reg_of[r];
	return n;
}

static void push_saved(struct nb_jit_ctx *c)
{
	unsigned list[4], n = saved(c, list);

	for (unsigned i = 0; i < n; i++)
		x_push(c, list[i]);
}

static void pop_saved(struct nb_jit_ctx *c)
{
	unsigned list[4], n = saved(c, list);

	while (n)
		x_pop(c, list[--n]);
}

static void move_rsp(struct nb_jit_ctx *c, unsigned op, int32_t by)
{
	if (by)
		x_alu_imm(c, true, op, RSP, by);
}

static unsigned npushed(const struct nb_jit_ctx *c)
{
	unsigned list[4];

	return saved(c, list) + frame_in_rbp(c) +
	       (c->needs.calls_local && nb_jit_wants_run(c));
}

/* Bytes below the saved registers. RSP is 8 off a multiple of 16 at entry and
 * must be a multiple of 16 where something is called. */
static int32_t room_below(const struct nb_jit_ctx *c)
{
	int32_t size = run_size(c) + (c->needs.frame ? NB_STACK_SIZE : 0);

	if (!size && !c->needs.calls_out)
		return 0;
	return size + (npushed(c) % 2 ? 0 : 8);
}

/* With local calls: below RSP comes a return address, so RSP itself is 8 off
 * and the callee may call without ado. */
static int32_t room_of_stub(const struct nb_jit_ctx *c)
{
	int32_t size = 8 + NB_STACK_SIZE + run_size(c);

	return size + (npushed(c) % 2 ? 0 : 8);
}

/* What the thread's area says; nb_cpu_seen. */
static void see_cpu(struct nb_jit_ctx *c)
{
	if (nb_cpu_area()) {
		x_load_thread(c, R11, nb_cpu_area());
		op_rm(c, false, 0x89, R11, run_data(c, RUN_CPU));
	} else {
		op_rm(c, false, 0xc7, 0, run_data(c, RUN_CPU));
		e4(c, UINT32_MAX);
	}
}

/* @run: the first argument, struct nb_exec, is still in RDI. */
static void init_run_data(struct nb_jit_ctx *c)
{
	if (c->needs.run) {
		op_rm(c, true, 0x8b, R11,
		      (struct mem){ RDI, offsetof(struct nb_exec, trace) });
		op_rm(c, true, 0x89, R11, run_data(c, RUN_TRACE));
		see_cpu(c);
	}
	if (c->needs.links) {
		op_rm(c, false, 0xc7, 0, run_data(c, RUN_TAILS));
		e4(c, 0);
		op_rm(c, false, 0xc7, 0, run_data(c, RUN_DEPTH));
		e4(c, 0);
	}
	if (c->needs.turns) {
		op_rm(c, false, 0xc7, 0, run_data(c, RUN_TURNS));
		e4(c, c->x->turns);
		op_rm(c, false, 0xc7, 0, run_data(c, RUN_NUMBERS));
		e4(c, c->x->numbers);
	}
	if (c->needs.may_goto) {
		op_rm(c, false, 0xc7, 0, run_data(c, RUN_PASSES));
		e4(c, c->x->passes);
	}
}

static void leave(struct nb_jit_ctx *c)
{
	if (c->needs.calls_local) {
		e1(c, 0xc3);
		return;
	}
	move_rsp(c, X_ADD, room_below(c));
	if (frame_in_rbp(c))
		x_pop(c, RBP);
	pop_saved(c);
	e1(c, 0xc3);
}

static void call_rel(struct nb_jit_ctx *c, uint32_t to)
{
	e1(c, 0xe8);
	e4(c, to - (c->pos + 4));
}

static void stub(struct nb_jit_ctx *c)
{
	const int32_t room = room_of_stub(c), top = 8 + NB_STACK_SIZE;

	x_push(c, RBP);
	if (nb_jit_wants_run(c))
		x_push(c, R13);
	move_rsp(c, X_SUB, room);
	nb_jit_note(c, 8 + 8 * npushed(c) + (uint32_t)room);
	x_lea(c, RBP, (struct mem){ RSP, top });
	if (nb_jit_wants_run(c)) {
		x_mov(c, true, R13, RBP);
		init_run_data(c);
	}
	/* offset 0 of the first pass is no place, but as long as any */
	call_rel(c, c->off[0]);
	move_rsp(c, X_ADD, room);
	if (nb_jit_wants_run(c))
		x_pop(c, R13);
	x_pop(c, RBP);
	pop_saved(c);
	e1(c, 0xc3);
}

/* DWARF's numbers of the registers that calls keep. */
static const uint8_t dwarf_of[] = {
	[RBX] = 3, [RBP] = 6, [R12] = 12, [R13] = 13, [R14] = 14, [R15] = 15
};

/* What is pushed right below the return address, for debuggers. */
static void describe(struct nb_jit_frames *f, const uint8_t *list, unsigned n)
{
	f->machine = EM_X86_64;
	f->sp_reg = 7;
	f->return_reg = 16;
	f->entry_size = 8;
	f->nsaved = 0;
	for (unsigned i = 0; i < n; i++)
		nb_jit_save(f, dwarf_of[list[i]], 2 + i);
}

static void describe_entry(struct nb_jit_ctx *c)
{
	unsigned list[4], n = saved(c, list);
	uint8_t all[5];

	/* functions of the program have frames of another shape */
	if (c->needs.calls_local)
		n = 0;
	for (unsigned i = 0; i < n; i++)
		all[i] = (uint8_t)list[i];
	if (!c->needs.calls_local && frame_in_rbp(c))
		all[n++] = RBP;
	describe(c->frames, all, n);
}

static void begin(struct nb_jit_ctx *c)
{
	describe_entry(c);
	e4(c, 0xfa1e0ff3); /* ENDBR64 */
	push_saved(c);
	if (c->needs.calls_local) {
		stub(c);
		c->body = c->pos;
		nb_jit_note(c, 8);
		if (c->needs.links)
			e4(c, 0xfa1e0ff3);
		return;
	}
	if (frame_in_rbp(c))
		x_push(c, RBP);
	move_rsp(c, X_SUB, room_below(c));
	nb_jit_note(c, 8 + 8 * npushed(c) + (uint32_t)room_below(c));
	if (frame_in_rbp(c))
		x_lea(c, RBP, (struct mem){ RSP, run_size(c) + NB_STACK_SIZE });
	/* the arguments r1 and r2 are in RSI and RDX already */
	if (nb_jit_wants_run(c))
		init_run_data(c);
}

static void trap(struct nb_jit_ctx *c)
{
	e1(c, 0x0f); /* UD2 */
	e1(c, 0x0b);
}

/* ---- jumps -------------------------------------------------------------- */

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

static bool reaches(int64_t distance)
{
	return fits8(distance);
}

static unsigned condition(enum nb_fn fn)
{
	switch ((int)fn) {
	case NB_FN_JEQ:
		return CC_E;
	case NB_FN_JGT:
		return CC_A;
	case NB_FN_JGE:
		return CC_AE;
	case NB_FN_JLT:
		return CC_B;
	case NB_FN_JLE:
		return CC_BE;
	case NB_FN_JSGT:
		return CC_G;
	case NB_FN_JSGE:
		return CC_GE;
	case NB_FN_JSLT:
		return CC_L;
	case NB_FN_JSLE:
		return CC_LE;
	}
	return CC_NE; /* JNE, JSET */
}

static void compare_and_jump(struct nb_jit_ctx *c, uint32_t pc,
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
	jump_if(c, pc, condition(row->fn));
}

static void may_goto(struct nb_jit_ctx *c, uint32_t pc)
{
	struct mem passes = run_data(c, RUN_PASSES);

	op_rm(c, false, 0x83, X_CMP, passes);
	e1(c, 0);
	jump_if(c, pc, CC_E);
	op_rm(c, false, 0xff, 1, passes); /* DEC */
}

/* ---- division ----------------------------------------------------------- */

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
		.with_sign = row->fn == NB_FN_SDIV || row->fn == NB_FN_SMOD,
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

/* ---- shifts ------------------------------------------------------------- */

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
	unsigned op = row->fn == NB_FN_LSH   ? X_SHL
		      : row->fn == NB_FN_RSH ? X_SHR
					     : X_SAR;
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

/* ---- the other arithmetic ----------------------------------------------- */

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

static void alu(struct nb_jit_ctx *c, uint32_t pc,
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

/* ---- memory ------------------------------------------------------------- */

static void load(struct nb_jit_ctx *c, const struct nb_code *i,
		 const struct nb_insn_spec *row)
{
	bool sign = row->kind == NB_KIND_LDXS;
	struct mem m = address(c, i->src, i->off);
	unsigned dst = reg_of[i->dst];

	switch (row->width) {
	case 8:
		op_rm(c, sign, sign ? 0x0fbe : 0x0fb6, dst, m);
		break;
	case 16:
		op_rm(c, sign, sign ? 0x0fbf : 0x0fb7, dst, m);
		break;
	case 32:
		op_rm(c, sign, sign ? 0x63 : 0x8b, dst, m);
		break;
	default:
		op_rm(c, true, 0x8b, dst, m);
	}
}

static void store(struct nb_jit_ctx *c, const struct nb_code *i,
		  const struct nb_insn_spec *row)
{
	struct mem m = address(c, i->dst, i->off);
	unsigned src = reg_of[i->src];

	if (row->width == 8) {
		op_rm8(c, 0x88, src, m);
		return;
	}
	if (row->width == 16)
		e1(c, 0x66);
	op_rm(c, row->width == 64, 0x89, src, m);
}

static void store_imm(struct nb_jit_ctx *c, const struct nb_code *i,
		      const struct nb_insn_spec *row)
{
	struct mem m = address(c, i->dst, i->off);
	uint32_t imm = (uint32_t)i->imm;

	if (row->width == 16)
		e1(c, 0x66);
	op_rm(c, row->width == 64, row->width == 8 ? 0xc6 : 0xc7, 0, m);
	if (row->width == 8) {
		e1(c, imm & 0xff);
	} else if (row->width == 16) {
		e1(c, imm & 0xff);
		e1(c, imm >> 8 & 0xff);
	} else {
		e4(c, imm);
	}
}

/* ---- atomics ------------------------------------------------------------ */

static void locked(struct nb_jit_ctx *c, bool w, unsigned op, unsigned src,
		   struct mem m)
{
	e1(c, 0xf0);
	op_rm(c, w, op, src, m);
}

/* OR, AND and XOR that answer with the old value: a loop around CMPXCHG. */
static void fetch_loop(struct nb_jit_ctx *c, const struct nb_code *i, bool w,
		       unsigned op)
{
	unsigned src = reg_of[i->src];
	struct mem m = { RDI, 0 };
	uint32_t again;

	x_lea(c, RDI, address(c, i->dst, i->off));
	x_mov(c, true, R10, RAX);
	op_rm(c, w, 0x8b, RAX, m);
	again = c->pos;
	x_mov(c, true, R11, RAX);
	x_alu(c, w, op, R11, src == RAX ? R10 : src);
	locked(c, w, 0x0fb1, R11, m);
	x_back_if(c, CC_NE, again);
	/* the old value, without an upper half for 32 bits, is in RAX */
	if (src != RAX) {
		x_mov(c, w, src, RAX);
		x_mov(c, true, RAX, R10);
	}
}

static void atomic(struct nb_jit_ctx *c, const struct nb_code *i,
		   const struct nb_insn_spec *row)
{
	struct mem m = address(c, i->dst, i->off);
	unsigned src = reg_of[i->src];
	bool w = row->width == 64;

	switch ((int)row->fn) {
	case NB_FN_ADD:
		locked(c, w, 0x01, src, m);
		break;
	case NB_FN_OR:
		locked(c, w, 0x09, src, m);
		break;
	case NB_FN_AND:
		locked(c, w, 0x21, src, m);
		break;
	case NB_FN_XOR:
		locked(c, w, 0x31, src, m);
		break;
	case NB_FN_FETCH_ADD:
		locked(c, w, 0x0fc1, src, m);
		break;
	case NB_FN_FETCH_OR:
		fetch_loop(c, i, w, X_OR);
		break;
	case NB_FN_FETCH_AND:
		fetch_loop(c, i, w, X_AND);
		break;
	case NB_FN_FETCH_XOR:
		fetch_loop(c, i, w, X_XOR);
		break;
	case NB_FN_XCHG:
		op_rm(c, w, 0x87, src, m); /* locks by itself */
		break;
	case NB_FN_CMPXCHG:
		locked(c, w, 0x0fb1, src, m);
		if (!w) /* on success EAX was not written */
			x_mov(c, false, RAX, RAX);
		break;
	}
}

/* ---- calls -------------------------------------------------------------- */

/* The code may end up 16 MiB from where it is now in the worst case. */
static bool near(const struct nb_jit_ctx *c, uint64_t fn)
{
	int64_t distance = (int64_t)(fn - (uintptr_t)c->base);

	return c->base && distance > INT32_MIN + (16 << 20) &&
	       distance < INT32_MAX - (16 << 20);
}

static void call_out(struct nb_jit_ctx *c, uint64_t fn)
{
	if (near(c, fn)) {
		e1(c, 0xe8);
		e4(c, (uint32_t)(fn - ((uintptr_t)c->base + c->pos + 4)));
		return;
	}
	rex(c, true, 0, RAX, false);
	e1(c, 0xb8 | RAX);
	e8(c, fn);
	e1(c, 0xff);
	e1(c, 0xd0); /* CALL RAX */
}

static void call_helper(struct nb_jit_ctx *c, const struct nb_code *i)
{
	if (c->needs.calls_local)
		x_mov(c, true, RDI, R13);
	else
		x_mov(c, true, RDI, RSP);
	call_out(c, (uint64_t)i->imm);
}

/* @reg times @size; changes RDI. */
static void scale(struct nb_jit_ctx *c, unsigned reg, uint64_t size)
{
	if (nb_jit_power_of_two(size)) {
		if (size > 1)
			x_shift_imm(c, true, X_SHL, reg,
				    (unsigned)__builtin_ctzll(size));
	} else if (fits32((int64_t)size)) {
		x_imul_imm(c, true, reg, (int32_t)size);
	} else {
		x_mov_imm(c, RDI, size);
		x_imul(c, true, reg, RDI);
	}
}

/* The index that r2 points to in R11; returns a jump for one outside. */
static uint32_t load_index(struct nb_jit_ctx *c, const struct nb_map *m)
{
	op_rm(c, false, 0x8b, R11, (struct mem){ RDX, 0 });
	op_rr(c, false, 0x81, X_CMP, R11);
	e4(c, m->max_entries);
	return x_skip_if(c, CC_AE);
}

static void lookup_array(struct nb_jit_ctx *c, const struct nb_map *m)
{
	uint32_t none;

	x_mov_imm(c, RAX, 0);
	none = load_index(c, m);
	scale(c, R11, m->elem_size);
	x_mov_imm(c, RAX, (uintptr_t)m->base);
	x_alu(c, true, X_ADD, RAX, R11);
	x_land(c, none);
}

/* The run's CPU in RAX; returns a jump for when it is not known. */
static uint32_t load_cpu(struct nb_jit_ctx *c)
{
	op_rm(c, false, 0x8b, RAX, run_data(c, RUN_CPU));
	x_alu_imm(c, false, X_CMP, RAX, (int32_t)nb_cpu_limit());
	return x_skip_if(c, CC_AE);
}

static void cpu(struct nb_jit_ctx *c, const struct nb_code *i)
{
	uint32_t ask = load_cpu(c), done = x_skip(c, 0xeb);

	x_land(c, ask);
	call_helper(c, i);
	x_land(c, done);
}

/* The helper has the answer where the CPU is not known or there is none. */
static void lookup_percpu(struct nb_jit_ctx *c, uint32_t pc)
{
	const struct nb_jit_fact *f = &c->fact[pc];
	const struct nb_map *m = f->map;
	uint32_t ask = load_cpu(c), none = 0, done;
	uint64_t base = (uintptr_t)m->base;

	scale(c, RAX, m->cpu_size);
	if (f->lookup == NB_JIT_LOOKUP_PERCPU) {
		none = load_index(c, m);
		scale(c, R11, m->elem_size);
		x_alu(c, true, X_ADD, RAX, R11);
	} else {
		base += m->elem_size * f->key;
	}
	x_mov_imm(c, R11, base);
	x_alu(c, true, X_ADD, RAX, R11);
	done = x_skip(c, 0xeb);
	x_land(c, ask);
	if (none)
		x_land(c, none);
	call_helper(c, &c->code[pc]);
	x_land(c, done);
}

/* The map's operation in the place of the helper that would call it. */
static void lookup_direct(struct nb_jit_ctx *c, uint32_t pc)
{
	struct nb_map *m = c->fact[pc].map;
	uint32_t ask = 0, done;
	uint64_t fn = 0;

	memcpy(&fn, &m->lookup, sizeof(m->lookup));
	if (m->percpu)
		ask = load_cpu(c);
	x_mov_imm(c, RDI, (uintptr_t)m);
	x_mov(c, true, RSI, RDX);
	if (m->percpu)
		x_mov(c, false, RDX, RAX);
	else
		x_mov_imm(c, RDX, 0);
	call_out(c, fn);
	if (!m->percpu)
		return;
	done = x_skip(c, 0xeb);
	x_land(c, ask);
	call_helper(c, &c->code[pc]);
	x_land(c, done);
}

/* Where tail calls ask for it, the number of frames is kept. */
static void count_frame(struct nb_jit_ctx *c, unsigned op)
{
	if (c->needs.links)
		op_rm(c, false, 0xff, op, run_data(c, RUN_DEPTH));
}

/* r6 to r9 and r10, and a frame with @more bytes above it, a multiple of 16;
 * then RSP is 8 off before the call. */
static void enter_frame(struct nb_jit_ctx *c, int32_t more)
{
	unsigned list[4];

	push_saved(c);
	x_push(c, RBP);
	more += 8 + NB_STACK_SIZE + ((saved(c, list) + 1) % 2 ? 8 : 0);
	move_rsp(c, X_SUB, more);
	nb_jit_note(c, 16 + 8 * saved(c, list) + (uint32_t)more);
	x_lea(c, RBP, (struct mem){ RSP, 8 + NB_STACK_SIZE });
	count_frame(c, 0);
}

static void leave_frame(struct nb_jit_ctx *c, int32_t more)
{
	unsigned list[4];

	count_frame(c, 1);
	more += 8 + NB_STACK_SIZE + ((saved(c, list) + 1) % 2 ? 8 : 0);
	move_rsp(c, X_ADD, more);
	x_pop(c, RBP);
	pop_saved(c);
	nb_jit_note(c, 8);
}

static void call_local(struct nb_jit_ctx *c, uint32_t pc)
{
	enter_frame(c, 0);
	call_rel(c, c->off[nb_jit_target(c, pc)]);
	leave_frame(c, 0);
}

/* ---- locks and records -------------------------------------------------- */

/* The run's number in R11: what nb_spin_number says. */
static void spin_number(struct nb_jit_ctx *c)
{
	x_mov(c, true, R11, c->needs.calls_local ? R13 : RSP);
	x_shift_imm(c, true, X_SHR, R11, NB_SPIN_SHIFT);
	x_alu_imm(c, false, X_CMP, R11, 1);
	op_rr(c, false, 0x83, 2, R11); /* ADC: 0 becomes 1 */
	e1(c, 0);
}

/* Free: one compare-and-swap. Else the helper, which waits. */
static void spin_lock(struct nb_jit_ctx *c, const struct nb_code *i)
{
	uint32_t done;

	spin_number(c);
	x_mov_imm(c, RAX, 0);
	locked(c, false, 0x0fb1, R11, (struct mem){ RSI, 0 });
	done = x_skip_if(c, CC_E);
	call_helper(c, i);
	x_land(c, done);
}

/* Not ours any more: nothing changes. */
static void spin_unlock(struct nb_jit_ctx *c, const struct nb_code *i)
{
	(void)i;
	spin_number(c);
	x_mov(c, false, RAX, R11);
	x_mov_imm(c, R11, 0);
	locked(c, false, 0x0fb1, R11, (struct mem){ RSI, 0 });
	x_mov_imm(c, RAX, 0);
}

static void ring_finish(struct nb_jit_ctx *c, bool discard)
{
	const struct mem header = { RSI, -NB_RINGBUF_HEADER };

	if (discard) {
		op_rm(c, false, 0x81, X_XOR, header);
		e4(c, NB_RINGBUF_BUSY | NB_RINGBUF_DISCARD);
	} else {
		op_rm(c, false, 0x81, X_AND, header);
		e4(c, ~NB_RINGBUF_BUSY);
	}
	x_mov_imm(c, RAX, 0);
}

/* ---- callbacks ---------------------------------------------------------- */

/* Above the callback's frame, which nobody looks at but the loop itself. */
enum {
	LOOP_CALLBACK = 0,
	LOOP_LIMIT = 8,
	LOOP_EACH = 16, /* struct nb_each */
	LOOP_SIZE = (LOOP_EACH + sizeof(struct nb_each) + 15) / 16 * 16
};

static struct mem loop_data(size_t off)
{
	return (struct mem){ RBP, (int32_t)off };
}

static struct mem each_data(size_t off)
{
	return loop_data(LOOP_EACH + off);
}

/*
 * The callback is the slot that the program put into r2: the one that is
 * known, or of those whose address the program takes the one whose number was
 * kept. Only direct calls.
 */
static void call_back(struct nb_jit_ctx *c, uint32_t pc)
{
	uint32_t done[NB_IMAGE_MAX_FUNCS], other;
	const uint32_t n = c->ncallbacks;

	if (c->fact[pc].flags & NB_JIT_CALLBACK) {
		call_rel(c, c->off[c->fact[pc].value]);
		return;
	}
	for (uint32_t i = 0; i < n; i++) {
		op_rm(c, false, 0x81, X_CMP, loop_data(LOOP_CALLBACK));
		e4(c, c->callback[i]);
		other = x_skip_if(c, CC_NE);
		call_rel(c, c->off[c->callback[i]]);
		done[i] = x_skip32(c);
		x_land(c, other);
	}
	trap(c);
	for (uint32_t i = 0; i < n; i++)
		x_land32(c, done[i]);
}

/* Frame and loop data of a callback; r1 to r3 are still the helper's. */
static void begin_loop(struct nb_jit_ctx *c, uint32_t pc)
{
	enter_frame(c, LOOP_SIZE);
	op_rm(c, false, 0xc7, 0, each_data(offsetof(struct nb_each, done)));
	e4(c, 0);
	op_rm(c, true, 0x89, RCX, each_data(offsetof(struct nb_each, ctx)));
	if (!(c->fact[pc].flags & NB_JIT_CALLBACK))
		op_rm(c, true, 0x89, RDX, loop_data(LOOP_CALLBACK));
}

static void end_loop(struct nb_jit_ctx *c)
{
	op_rm(c, false, 0x8b, RAX, each_data(offsetof(struct nb_each, done)));
	leave_frame(c, LOOP_SIZE);
}

/* One more turn; returns a jump for when none is left. */
static uint32_t take_turn(struct nb_jit_ctx *c)
{
	const struct mem turns = run_data(c, RUN_TURNS);
	uint32_t none;

	op_rm(c, false, 0x83, X_CMP, turns);
	e1(c, 0);
	none = x_skip32_if(c, CC_E);
	op_rm(c, false, 0xff, 1, turns); /* DEC */
	return none;
}

static void loop(struct nb_jit_ctx *c, uint32_t pc)
{
	const struct mem done = each_data(offsetof(struct nb_each, done));
	uint32_t bad_flags, too_many, none, over, stop, again;

	x_mov_imm(c, RAX, (uint64_t)-EINVAL);
	x_test(c, true, R8, R8);
	bad_flags = x_skip32_if(c, CC_NE);
	x_mov_imm(c, RAX, (uint64_t)-E2BIG);
	x_alu_imm(c, false, X_CMP, RSI, NB_LOOP_MAX);
	too_many = x_skip32_if(c, CC_A);
	x_mov_imm(c, RAX, 0);
	x_test(c, false, RSI, RSI);
	none = x_skip32_if(c, CC_E);
	begin_loop(c, pc);
	op_rm(c, false, 0x89, RSI, loop_data(LOOP_LIMIT));
	again = c->pos;
	over = take_turn(c);
	op_rm(c, false, 0x8b, RSI, done);
	op_rm(c, true, 0x8b, RDX, each_data(offsetof(struct nb_each, ctx)));
	op_rm(c, false, 0xff, 0, done); /* INC */
	call_back(c, pc);
	x_test(c, true, RAX, RAX);
	stop = x_skip_if(c, CC_NE);
	op_rm(c, false, 0x8b, RAX, done);
	op_rm(c, false, 0x3b, RAX, loop_data(LOOP_LIMIT)); /* CMP */
	x_back32_if(c, CC_B, again);
	x_land(c, stop);
	x_land32(c, over);
	end_loop(c);
	x_land32(c, bad_flags);
	x_land32(c, too_many);
	x_land32(c, none);
}

static void call_each_next(struct nb_jit_ctx *c)
{
	uint64_t fn = 0;
	bool (*next)(struct nb_run *, struct nb_each *) = nb_each_next;

	memcpy(&fn, &next, sizeof(next));
	x_mov(c, true, RDI, R13);
	x_lea(c, RSI, each_data(0));
	move_rsp(c, X_SUB, 8); /* aligned for a function of C */
	call_out(c, fn);
	move_rsp(c, X_ADD, 8);
}

static void each(struct nb_jit_ctx *c, uint32_t pc)
{
	const size_t cursor = offsetof(struct nb_each, cursor);
	uint32_t bad_flags, end, again;

	x_mov_imm(c, RAX, (uint64_t)-EINVAL);
	x_test(c, true, R8, R8);
	bad_flags = x_skip32_if(c, CC_NE);
	begin_loop(c, pc);
	op_rm(c, true, 0x89, RSI, each_data(offsetof(struct nb_each, map)));
	x_mov_imm(c, RAX, 0);
	op_rm(c, false, 0x89, RAX,
	      each_data(offsetof(struct nb_each, done) + 4));
	for (size_t i = 0; i < sizeof(struct nb_map_cursor); i += 8)
		op_rm(c, true, 0x89, RAX, each_data(cursor + i));
	again = c->pos;
	call_each_next(c);
	op_rr8(c, false, 0x84, RAX, RAX); /* TEST AL, AL */
	end = x_skip32_if(c, CC_E);
	op_rm(c, true, 0x8b, RSI, each_data(offsetof(struct nb_each, map)));
	op_rm(c, true, 0x8b, RDX,
	      each_data(cursor + offsetof(struct nb_map_cursor, key)));
	op_rm(c, true, 0x8b, RCX,
	      each_data(cursor + offsetof(struct nb_map_cursor, value)));
	op_rm(c, true, 0x8b, R8, each_data(offsetof(struct nb_each, ctx)));
	call_back(c, pc);
	x_test(c, true, RAX, RAX);
	x_back32_if(c, CC_E, again);
	x_land32(c, end);
	end_loop(c);
	x_land32(c, bad_flags);
}

/* ---- tail calls --------------------------------------------------------- */

/*
 * All linked programs keep the same things in the same places, so that one
 * goes on in the frame of another: run data at R13, the frame at RBP, its
 * caller's registers saved by the caller.
 */
static void tail_call(struct nb_jit_ctx *c, const struct nb_code *i)
{
	const void *(*find)(struct nb_run *, const struct nb_exec *,
			    const struct nb_map *, uint32_t) = nb_tail_body;
	uint64_t fn = 0;
	uint32_t none;

	memcpy(&fn, &find, sizeof(find));
	op_rm(c, true, 0x89, RSI, run_data(c, RUN_CTX));
	x_mov(c, true, RDI, R13);
	x_mov_imm(c, RSI, (uint64_t)i->imm);
	call_out(c, fn); /* map and index are in RDX and RCX */
	x_test(c, true, RAX, RAX);
	none = x_skip_if(c, CC_E);
	op_rm(c, true, 0x8b, RSI, run_data(c, RUN_CTX));
	e1(c, 0xff);
	e1(c, 0xe0); /* JMP RAX */
	x_land(c, none);
}

/* ---- the rest of the slots ---------------------------------------------- */

static void jump(struct nb_jit_ctx *c, uint32_t pc)
{
	jump_if(c, pc, CC_ALWAYS);
}

static void constant(struct nb_jit_ctx *c, unsigned reg, uint64_t v)
{
	x_mov_imm(c, reg_of[reg], v);
}

/* One LEA. */
static bool copy_and_add(struct nb_jit_ctx *c, const struct nb_code *i,
			 int64_t k)
{
	/* the frame's distance from RSP is added to it */
	if (i->src == NB_R10 && (k < -NB_STACK_SIZE || k > 0))
		return false;
	x_lea(c, reg_of[i->dst], address(c, i->src, (int32_t)k));
	return true;
}

/* ---- chains ------------------------------------------------------------- */

/* What a chain keeps while programs run. */
enum {
	CHAIN_CTX = RBX,
	CHAIN_OVERRIDES = RBP,
	CHAIN_BY = R12,	    /* the program that had the last word */
	CHAIN_ANSWER = R13, /* the answer so far, 8 bytes... */
	CHAIN_REST = R14    /* ...and 4 */
};

static const uint8_t chain_saves[] = { RBX, RBP, R12, R13, R14 };

static void load_answer(struct nb_jit_ctx *c, unsigned first, unsigned rest)
{
	const int32_t at = (int32_t)c->chain->answer;

	op_rm(c, true, 0x8b, first, (struct mem){ CHAIN_CTX, at });
	op_rm(c, false, 0x8b, rest, (struct mem){ CHAIN_CTX, at + 8 });
}

/* Program @l, the chain's number @i. */
static void chain_step(struct nb_jit_ctx *c, const struct nb_jit_link *l,
		       uint32_t i)
{
	nb_engine_fn *entry = l->jit ? l->jit->entry : nb_exec_interpret;
	uint32_t changed, same;
	uint64_t fn = 0;

	memcpy(&fn, &entry, sizeof(entry));
	x_mov_imm(c, RDI, (uintptr_t)l->x);
	x_mov(c, true, RSI, CHAIN_CTX);
	x_mov_imm(c, RDX, c->chain->ctx_size);
	call_out(c, fn);
	load_answer(c, RAX, RCX);
	x_alu(c, true, X_CMP, RAX, CHAIN_ANSWER);
	changed = x_skip_if(c, CC_NE);
	x_alu(c, false, X_CMP, RCX, CHAIN_REST);
	same = x_skip_if(c, CC_E);
	x_land(c, changed);
	op_rm(c, true, 0xff, 0, /* INC */
	      (struct mem){ CHAIN_OVERRIDES, (int32_t)(8 * i) });
	x_mov_imm(c, CHAIN_BY, i);
	x_mov(c, true, CHAIN_ANSWER, RAX);
	x_mov(c, false, CHAIN_REST, RCX);
	x_land(c, same);
}

static void chain(struct nb_jit_ctx *c)
{
	const uint32_t n = sizeof(chain_saves);
	uint32_t done = 0;

	describe(c->frames, chain_saves, n);
	e4(c, 0xfa1e0ff3); /* ENDBR64 */
	for (uint32_t i = 0; i < n; i++)
		x_push(c, chain_saves[i]);
	nb_jit_note(c, 8 + 8 * n);
	x_mov(c, true, CHAIN_CTX, RSI);
	x_mov(c, true, CHAIN_OVERRIDES, RDX);
	x_mov_imm(c, CHAIN_BY, UINT32_MAX);
	load_answer(c, CHAIN_ANSWER, CHAIN_REST);
	for (uint32_t i = 0; i < c->chain->n; i++)
		if (c->chain->link[i].runs)
			chain_step(c, &c->chain->link[i], done++);
	x_mov(c, false, RAX, CHAIN_BY);
	for (uint32_t i = n; i; i--)
		x_pop(c, chain_saves[i - 1]);
	e1(c, 0xc3);
	trap(c);
}

/* Code and data are coherent on this machine. */
static void flush(unsigned char *code, size_t size)
{
	(void)code, (void)size;
}

/* Asked once: in a virtual machine cpuid takes longer than compiling does. */
static unsigned features(void)
{
	enum { ASKED = 1 << 30 };
	static unsigned known; /* atomic; all threads find the same */
	unsigned now = __atomic_load_n(&known, __ATOMIC_RELAXED);
	unsigned a, b = 0, d, e;

	if (!now) {
		now = ASKED;
		if (__get_cpuid_count(7, 0, &a, &b, &d, &e) && b & bit_BMI2)
			now |= FEATURE_BMI2;
		__atomic_store_n(&known, now, __ATOMIC_RELAXED);
	}
	return now & ~(unsigned)ASKED;
}

/* Loads and stores of this machine are ordered enough for acquire and release.
 */
static const struct nb_jit_arch arch = {
	.name = "x86-64",
	.features = features,
	/* ENDBR64; RET */
	.nothing = { 0xf3, 0x0f, 0x1e, 0xfa, 0xc3, 0xcc, 0xcc, 0xcc },
	.reaches = reaches,
	.flush = flush,
	.chain = chain,
	.begin = begin,
	.trap = trap,
	.alu = alu,
	.constant = constant,
	.copy_and_add = copy_and_add,
	.jump = jump,
	.compare_and_jump = compare_and_jump,
	.may_goto = may_goto,
	.leave = leave,
	.load = load,
	.store = store,
	.store_imm = store_imm,
	.load_acquire = load,
	.store_release = store,
	.atomic = atomic,
	.call_local = call_local,
	.call_helper = call_helper,
	.lookup_array = lookup_array,
	.lookup_percpu = lookup_percpu,
	.lookup_direct = lookup_direct,
	.cpu = cpu,
	.loop = loop,
	.each = each,
	.tail_call = tail_call,
	.spin_lock = spin_lock,
	.spin_unlock = spin_unlock,
	.ring_finish = ring_finish,
};

const struct nb_jit_arch *nb_jit_arch_x86_64(void)
{
	return &arch;
}

#else

const struct nb_jit_arch *nb_jit_arch_x86_64(void)
{
	return NULL;
}

#endif
