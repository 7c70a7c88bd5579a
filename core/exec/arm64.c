// SPDX-License-Identifier: MIT
// Lowering for 64-bit Arm in its procedure call standard. Registers stand
// where helpers want them: run in x0, r1 to r5 in x1 to x5; r0 is x7, r6 to
// r9 and r10 are registers that calls keep. So a helper call is one move, the
// call and a move of its answer. x9 to x12 and x16 are scratch; x23 points to
// the run's own data where local calls move the stack.
//
// Stack of a program without local calls, from SP up: the run's data, the
// frame of 512 bytes, saved registers. With local calls the entry is a stub
// that calls slot 0, and each call site saves r6 to r9 and makes the callee's
// frame, whatever code functions share: 512 bytes, and above them the address
// to return to, which EXIT takes from there.
#include "core/exec/jit.h"

#if defined(__aarch64__)

#include <elf.h>
#include <errno.h>
#include <string.h>
#include <sys/auxv.h>

#include "core/exec/enc_arm64.h"
#include "core/exec/spin.h"
#include "core/map/ops.h"
#include "core/map/ringbuf.h"

enum { FEATURE_LSE = 1 };

/* Bit of AT_HWCAP (asm/hwcap.h: HWCAP_ATOMICS). */
enum { HWCAP_LSE = 1 << 8 };

/* Scratch registers, the run's data, r0. */
enum {
	T0 = 9,
	T1 = 10,
	T2 = 11,
	T3 = 12,
	FN = 16,
	R0 = 7,
	RUN = 23,
	FRAME = 24
};

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

/* Above a callee's frame: the return address. */
enum { RETURN = 16 };

static const uint8_t reg_of[NB_NREGS] = { R0, 1,  2,  3,  4,	5,
					  19, 20, 21, 22, FRAME };

static uint32_t run_size(const struct nb_jit_ctx *c)
{
	return nb_jit_wants_run(c) ? RUN_SIZE : 0;
}

static unsigned run_base(const struct nb_jit_ctx *c)
{
	return c->needs.calls_local ? RUN : SP;
}

/* ---- entry and exit ----------------------------------------------------- */

/* Those of r6 to r9 that the program changes, as machine registers. */
static unsigned changed(const struct nb_jit_ctx *c, unsigned list[4])
{
	unsigned n = 0;

	for (unsigned r = 6; r < NB_R10; r++)
		if (c->needs.written >> r & 1)
			list[n++] = reg_of[r];
	return n;
}

/* What the entry saves, an even number of registers. */
static unsigned saved(const struct nb_jit_ctx *c, unsigned list[8])
{
	unsigned n = changed(c, list);

	if (c->needs.frame || c->needs.calls_local)
		list[n++] = FRAME;
	if (c->needs.calls_local && nb_jit_wants_run(c))
		list[n++] = RUN;
	if (n % 2)
		list[n++] = ZR;
	return n;
}

static bool saves_link(const struct nb_jit_ctx *c)
{
	return c->needs.calls_out || c->needs.calls_local;
}

static void push_saved(struct nb_jit_ctx *c)
{
	unsigned list[8], n = saved(c, list);

	if (saves_link(c)) {
		a_push_pair(c, FP, LR);
		a_add_imm(c, true, A_ADD, FP, SP, 0);
	}
	for (unsigned i = 0; i < n; i += 2)
		a_push_pair(c, list[i], list[i + 1]);
}

static void pop_saved(struct nb_jit_ctx *c)
{
	unsigned list[8], n = saved(c, list);

	for (; n; n -= 2)
		a_pop_pair(c, list[n - 2], list[n - 1]);
	if (saves_link(c))
		a_pop_pair(c, FP, LR);
}

static void move_sp(struct nb_jit_ctx *c, uint32_t op, uint32_t by)
{
	if (by)
		a_add_imm(c, true, op, SP, SP, by);
}

/* Bytes below the saved registers; SP is always a multiple of 16. */
static uint32_t room_below(const struct nb_jit_ctx *c)
{
	if (c->needs.calls_local)
		return NB_STACK_SIZE + RETURN + run_size(c);
	return run_size(c) + (c->needs.frame ? NB_STACK_SIZE : 0);
}

/* What the thread's area says, in T0; nb_cpu_seen. */
static void see_cpu(struct nb_jit_ctx *c)
{
	if (nb_cpu_area()) {
		a4(c, A_MRS_TPIDR | T0);
		a_mov_imm(c, T1, (uint64_t)(int64_t)nb_cpu_area());
		a_mem_reg(c, A_LOAD, 2, T0, T0, T1);
	} else {
		a_mov_imm(c, T0, UINT32_MAX);
	}
}

/* struct nb_exec is still in x0. */
static void init_run_data(struct nb_jit_ctx *c)
{
	unsigned base = run_base(c);

	if (c->needs.run) {
		a_mem(c, A_LOAD, 3, T0, 0, offsetof(struct nb_exec, trace));
		a_mem(c, A_STORE, 3, T0, base, RUN_TRACE);
		see_cpu(c);
		a_mem(c, A_STORE, 2, T0, base, RUN_CPU);
	}
	if (c->needs.links) {
		a_mem(c, A_STORE, 2, ZR, base, RUN_TAILS);
		a_mem(c, A_STORE, 2, ZR, base, RUN_DEPTH);
	}
	if (c->needs.turns) {
		a_mov_imm(c, T0, c->x->turns);
		a_mem(c, A_STORE, 2, T0, base, RUN_TURNS);
		a_mov_imm(c, T0, c->x->numbers);
		a_mem(c, A_STORE, 2, T0, base, RUN_NUMBERS);
	}
	if (c->needs.may_goto) {
		a_mov_imm(c, T0, c->x->passes);
		a_mem(c, A_STORE, 2, T0, base, RUN_PASSES);
	}
}

static void leave_entry(struct nb_jit_ctx *c)
{
	a_mov(c, true, 0, R0);
	move_sp(c, A_ADD, room_below(c));
	pop_saved(c);
	a4(c, A_RET);
}

static void leave(struct nb_jit_ctx *c)
{
	if (!c->needs.calls_local) {
		leave_entry(c);
		return;
	}
	a_mem(c, A_LOAD, 3, LR, FRAME, 0);
	a4(c, A_RET);
}

/*
 * The callee has no prologue of its own, since functions may share code: the
 * return address goes above its frame here. BL and RET stay in pairs, which
 * is what the processor's prediction of returns needs.
 */
static void call_slot(struct nb_jit_ctx *c, uint32_t slot)
{
	a_b(c, A_BL, 8);
	a_b(c, A_B, 12);
	a_mem(c, A_STORE, 3, LR, FRAME, 0);
	a_b(c, A_B, (int64_t)c->off[slot] - c->pos);
}

static void stub(struct nb_jit_ctx *c)
{
	a_add_imm(c, true, A_ADD, FRAME, SP, NB_STACK_SIZE);
	if (nb_jit_wants_run(c)) {
		a_add_imm(c, true, A_ADD, RUN, FRAME, RETURN);
		init_run_data(c);
	}
	call_slot(c, 0);
	leave_entry(c);
	c->body = c->pos;
	if (c->needs.links)
		a4(c, A_BTI_J);
}

/*
 * What is pushed in pairs, for debuggers. With FP and LR as the first pair the
 * frame is found by FP, which nothing changes until the entry leaves: from a
 * function of the program straight to who called the program.
 */
static void describe(struct nb_jit_frames *f, const unsigned *list, unsigned n)
{
	f->machine = EM_AARCH64;
	f->sp_reg = SP;
	f->return_reg = LR;
	f->base_reg = n && list[0] == FP ? FP : 0;
	f->entry_size = 0;
	f->nsaved = 0;
	for (unsigned i = 0; i < n; i++)
		if (list[i] != ZR)
			nb_jit_save(f, list[i], (i / 2 + 1) * 2 - i % 2);
}

static void describe_entry(struct nb_jit_ctx *c)
{
	unsigned list[10] = { FP, LR }, n = saves_link(c) ? 2 : 0;

	n += saved(c, list + n);
	describe(c->frames, list, n);
	nb_jit_note(c, c->frames->base_reg ? 16 : 8 * n + room_below(c));
}

static void begin(struct nb_jit_ctx *c)
{
	a4(c, A_BTI_C);
	push_saved(c);
	move_sp(c, A_SUB, room_below(c));
	describe_entry(c);
	if (c->needs.calls_local) {
		stub(c);
		return;
	}
	if (c->needs.frame)
		a_add_imm(c, true, A_ADD, FRAME, SP,
			  run_size(c) + NB_STACK_SIZE);
	/* the arguments r1 and r2 are in x1 and x2 already */
	if (nb_jit_wants_run(c))
		init_run_data(c);
}

static void trap(struct nb_jit_ctx *c)
{
	a4(c, A_UDF);
}

/* ---- jumps -------------------------------------------------------------- */

/* @cc: a condition, or CC_ALWAYS. The long form jumps over a branch. */
enum { CC_ALWAYS = 14 };

static void jump_if(struct nb_jit_ctx *c, uint32_t pc, unsigned cc)
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

static bool reaches(int64_t distance)
{
	return distance > -(1 << 20) + 16 && distance < (1 << 20) - 16;
}

static unsigned condition(enum nb_fn fn)
{
	switch ((int)fn) {
	case NB_FN_JEQ:
		return CC_EQ;
	case NB_FN_JGT:
		return CC_HI;
	case NB_FN_JGE:
		return CC_HS;
	case NB_FN_JLT:
		return CC_LO;
	case NB_FN_JLE:
		return CC_LS;
	case NB_FN_JSGT:
		return CC_GT;
	case NB_FN_JSGE:
		return CC_GE;
	case NB_FN_JSLT:
		return CC_LT;
	case NB_FN_JSLE:
		return CC_LE;
	}
	return CC_NE; /* JNE, JSET */
}

/* The operands' second as a register: src, or the immediate in T0. */
static unsigned second(struct nb_jit_ctx *c, const struct nb_code *i,
		       const struct nb_insn_spec *row)
{
	if (row->operand == NB_OPND_REG)
		return reg_of[i->src];
	a_mov_imm(c, T0,
		  row->width == 64 ? (uint64_t)i->imm : (uint32_t)i->imm);
	return T0;
}

/* dst op imm, without a register for it where that can be. */
static void logical(struct nb_jit_ctx *c, const struct nb_code *i,
		    const struct nb_insn_spec *row, uint32_t op, unsigned rd)
{
	bool w = row->width == 64;
	uint32_t fields;

	if (row->operand == NB_OPND_IMM &&
	    bitmask((uint64_t)i->imm, w, &fields))
		a_logical_imm(c, w, op, rd, reg_of[i->dst], fields);
	else
		a_rrr(c, w, op, rd, reg_of[i->dst], second(c, i, row));
}

static void compare(struct nb_jit_ctx *c, const struct nb_code *i,
		    const struct nb_insn_spec *row)
{
	bool w = row->width == 64;

	if (row->operand == NB_OPND_IMM && i->imm >= 0 &&
	    fits12((uint64_t)i->imm))
		a_add_imm(c, w, A_SUBS, ZR, reg_of[i->dst], (uint32_t)i->imm);
	else
		a_rrr(c, w, A_SUBS, ZR, reg_of[i->dst], second(c, i, row));
}

static void compare_and_jump(struct nb_jit_ctx *c, uint32_t pc,
			     const struct nb_insn_spec *row)
{
	const struct nb_code *i = &c->code[pc];

	if (row->fn == NB_FN_JSET)
		logical(c, i, row, A_ANDS, ZR);
	else
		compare(c, i, row);
	jump_if(c, pc, condition(row->fn));
}

static void may_goto(struct nb_jit_ctx *c, uint32_t pc)
{
	a_mem(c, A_LOAD, 2, T0, run_base(c), RUN_PASSES);
	a_add_imm(c, false, A_SUBS, ZR, T0, 0);
	jump_if(c, pc, CC_EQ);
	a_add_imm(c, false, A_SUB, T0, T0, 1);
	a_mem(c, A_STORE, 2, T0, run_base(c), RUN_PASSES);
}

/* ---- arithmetic --------------------------------------------------------- */

/* dst = src + imm, or - imm for A_SUB. */
static void add_const(struct nb_jit_ctx *c, bool w, uint32_t op, unsigned dst,
		      unsigned src, int64_t imm)
{
	if (imm < 0) { /* as its opposite, if that is shorter */
		uint64_t minus = -(uint64_t)imm;

		if (fits12(minus)) {
			a_add_imm(c, w, op == A_ADD ? A_SUB : A_ADD, dst, src,
				  (uint32_t)minus);
			return;
		}
	} else if (fits12((uint64_t)imm)) {
		a_add_imm(c, w, op, dst, src, (uint32_t)imm);
		return;
	}
	a_mov_imm(c, T0, w ? (uint64_t)imm : (uint32_t)imm);
	a_rrr(c, w, op, dst, src, T0);
}

static void add(struct nb_jit_ctx *c, const struct nb_code *i,
		const struct nb_insn_spec *row, uint32_t op)
{
	unsigned dst = reg_of[i->dst];
	bool w = row->width == 64;

	if (row->operand == NB_OPND_REG)
		a_rrr(c, w, op, dst, dst, reg_of[i->src]);
	else
		add_const(c, w, op, dst, dst, w ? i->imm : (int32_t)i->imm);
}

/*
 * The machine divides as BPF does: by zero gives 0, and so the remainder by
 * zero is the dividend; the least number by -1 is itself, remainder 0.
 */
static void divide(struct nb_jit_ctx *c, const struct nb_code *i,
		   const struct nb_insn_spec *row)
{
	bool with_sign = row->fn == NB_FN_SDIV || row->fn == NB_FN_SMOD;
	bool mod = row->fn == NB_FN_MOD || row->fn == NB_FN_SMOD;
	unsigned dst = reg_of[i->dst], by;
	bool w = row->width == 64;
	uint64_t k = w ? (uint64_t)i->imm : (uint32_t)i->imm;
	uint32_t fields;

	if (row->operand == NB_OPND_IMM && !with_sign &&
	    nb_jit_power_of_two(k)) {
		if (!mod)
			a_shift_imm(c, w, A_LSR, dst, dst,
				    (unsigned)__builtin_ctzll(k));
		else if (bitmask(k - 1, w, &fields))
			a_logical_imm(c, w, A_AND, dst, dst, fields);
		else /* by 1 */
			a_mov(c, true, dst, ZR);
		return;
	}
	by = second(c, i, row);
	a_rrr(c, w, with_sign ? A_SDIV : A_UDIV, mod ? T1 : dst, dst, by);
	if (mod)
		a_msub(c, w, dst, T1, by, dst);
}

static void shift(struct nb_jit_ctx *c, const struct nb_code *i,
		  const struct nb_insn_spec *row)
{
	uint32_t op = row->fn == NB_FN_LSH   ? A_LSL
		      : row->fn == NB_FN_RSH ? A_LSR
					     : A_ASR;
	unsigned dst = reg_of[i->dst];
	bool w = row->width == 64;

	if (row->operand == NB_OPND_REG)
		a_rrr(c, w, op, dst, dst, reg_of[i->src]);
	else
		a_shift_imm(c, w, op, dst, dst,
			    (unsigned)i->imm & (row->width - 1u));
}

static void move(struct nb_jit_ctx *c, const struct nb_code *i,
		 const struct nb_insn_spec *row)
{
	unsigned dst = reg_of[i->dst];
	bool w = row->width == 64;

	if (row->operand == NB_OPND_IMM)
		a_mov_imm(c, dst, w ? (uint64_t)i->imm : (uint32_t)i->imm);
	else if (!w || i->dst != i->src)
		a_mov(c, w, dst, reg_of[i->src]);
}

/* LE cuts off, BE and BSWAP swap; 16 and 32 bits are zero-extended. */
static void swap(struct nb_jit_ctx *c, const struct nb_code *i,
		 const struct nb_insn_spec *row)
{
	unsigned dst = reg_of[i->dst];
	bool le = row->fn == NB_FN_LE;

	if (row->width == 16) {
		if (!le)
			a_rr(c, false, A_REV16, dst, dst);
		a_bitfield(c, false, A_UBFM, dst, dst, 0, 15);
	} else if (row->width == 32 && le) {
		a_mov(c, false, dst, dst);
	} else if (!le) {
		a_rr(c, row->width == 64, row->width == 64 ? A_REV64 : A_REV32,
		     dst, dst);
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
		add(c, i, row, A_ADD);
		break;
	case NB_FN_SUB:
		add(c, i, row, A_SUB);
		break;
	case NB_FN_OR:
		logical(c, i, row, A_ORR, dst);
		break;
	case NB_FN_AND:
		logical(c, i, row, A_AND, dst);
		break;
	case NB_FN_XOR:
		logical(c, i, row, A_EOR, dst);
		break;
	case NB_FN_MUL:
		a_madd(c, w, dst, dst, second(c, i, row), ZR);
		break;
	case NB_FN_DIV:
	case NB_FN_MOD:
	case NB_FN_SDIV:
	case NB_FN_SMOD:
		divide(c, i, row);
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
		a_bitfield(c, w, A_SBFM, dst, src, 0, 7);
		break;
	case NB_FN_MOVSX16:
		a_bitfield(c, w, A_SBFM, dst, src, 0, 15);
		break;
	case NB_FN_MOVSX32:
		a_bitfield(c, w, A_SBFM, dst, src, 0, 31);
		break;
	case NB_FN_NEG:
		a_rrr(c, w, A_SUB, dst, ZR, dst);
		break;
	case NB_FN_LE:
	case NB_FN_BE:
	case NB_FN_BSWAP:
		swap(c, i, row);
		break;
	}
}

/* ---- memory ------------------------------------------------------------- */

/* log2 of a row's bytes in memory. */
static unsigned size_log(const struct nb_insn_spec *row)
{
	return (unsigned)__builtin_ctz(row->width / 8u);
}

static void access(struct nb_jit_ctx *c, unsigned kind, unsigned log,
		   unsigned rt, unsigned base, int32_t off)
{
	if (fits_scaled(off, log)) {
		a_mem(c, kind, log, rt, base, (uint32_t)off);
	} else if (off >= -256 && off < 256) {
		a_mem_unscaled(c, kind, log, rt, base, off);
	} else {
		a_mov_imm(c, T1, (uint64_t)(int64_t)off);
		a_mem_reg(c, kind, log, rt, base, T1);
	}
}

static void store_imm(struct nb_jit_ctx *c, const struct nb_code *i,
		      const struct nb_insn_spec *row)
{
	uint64_t v = (uint64_t)i->imm & ones(row->width);

	if (v)
		a_mov_imm(c, T0, v);
	access(c, A_STORE, size_log(row), v ? T0 : ZR, reg_of[i->dst], i->off);
}

/* Instructions that take no offset: the address in a register. */
static unsigned address(struct nb_jit_ctx *c, unsigned reg, int32_t off)
{
	if (!off)
		return reg_of[reg];
	add_const(c, true, A_ADD, T1, reg_of[reg], off);
	return T1;
}

/* ---- atomics ------------------------------------------------------------ */

/* One instruction, acquire and release. */
static void with_lse(struct nb_jit_ctx *c, const struct nb_code *i,
		     const struct nb_insn_spec *row, unsigned at)
{
	unsigned src = reg_of[i->src], log = size_log(row);

	switch ((int)row->fn) {
	case NB_FN_ADD:
		a_ordered(c, A_LDADD, log, src, T2, at);
		break;
	case NB_FN_OR:
		a_ordered(c, A_LDSET, log, src, T2, at);
		break;
	case NB_FN_XOR:
		a_ordered(c, A_LDEOR, log, src, T2, at);
		break;
	case NB_FN_AND: /* clears what is set: the complement */
	case NB_FN_FETCH_AND:
		a_rrr(c, true, A_ORN, T2, ZR, src);
		a_ordered(c, A_LDCLR, log, T2, row->fn == NB_FN_AND ? T2 : src,
			  at);
		break;
	case NB_FN_FETCH_ADD:
		a_ordered(c, A_LDADD, log, src, src, at);
		break;
	case NB_FN_FETCH_OR:
		a_ordered(c, A_LDSET, log, src, src, at);
		break;
	case NB_FN_FETCH_XOR:
		a_ordered(c, A_LDEOR, log, src, src, at);
		break;
	case NB_FN_XCHG:
		a_ordered(c, A_SWP, log, src, src, at);
		break;
	case NB_FN_CMPXCHG:
		a_ordered(c, A_CAS, log, R0, src, at);
		break;
	}
}

static uint32_t combining(enum nb_fn fn)
{
	switch ((int)fn) {
	case NB_FN_ADD:
	case NB_FN_FETCH_ADD:
		return A_ADD;
	case NB_FN_OR:
	case NB_FN_FETCH_OR:
		return A_ORR;
	case NB_FN_AND:
	case NB_FN_FETCH_AND:
		return A_AND;
	}
	return A_EOR;
}

/* The same by exclusive accesses: T2 is the old value, T3 the new one, T0 says
 * whether it must be tried again. */
static void with_loop(struct nb_jit_ctx *c, const struct nb_code *i,
		      const struct nb_insn_spec *row, unsigned at)
{
	unsigned src = reg_of[i->src], log = size_log(row), value = T3;
	uint32_t again = c->pos, differs = 0;
	bool w = row->width == 64;

	a_ordered(c, A_LDAXR, log, 0, T2, at);
	if (row->fn == NB_FN_CMPXCHG) {
		a_rrr(c, w, A_SUBS, ZR, T2, R0);
		differs = a_skip(c, A_BCOND | CC_NE);
	}
	if (row->fn == NB_FN_CMPXCHG || row->fn == NB_FN_XCHG)
		value = src;
	else
		a_rrr(c, w, combining(row->fn), T3, T2, src);
	a_ordered(c, A_STLXR, log, T0, value, at);
	a_b19(c, A_CBNZ | T0, (int64_t)again - c->pos);
	if (row->fn == NB_FN_CMPXCHG)
		a_land(c, differs);
	a4(c, A_DMB);
	if (row->fn == NB_FN_CMPXCHG)
		a_mov(c, w, R0, T2);
	else if (row->fn >= NB_FN_FETCH_ADD)
		a_mov(c, w, src, T2);
}

static void atomic(struct nb_jit_ctx *c, const struct nb_code *i,
		   const struct nb_insn_spec *row)
{
	unsigned at = address(c, i->dst, i->off);

	if (c->features & FEATURE_LSE)
		with_lse(c, i, row, at);
	else
		with_loop(c, i, row, at);
}

/* ---- calls -------------------------------------------------------------- */

/* BL reaches 128 MiB; the code may grow to 16 in the worst case. */
static bool near(const struct nb_jit_ctx *c, uint64_t fn)
{
	int64_t distance = (int64_t)(fn - (uintptr_t)c->base);

	return c->base && distance > -(112 << 20) && distance < 112 << 20;
}

static void call_out(struct nb_jit_ctx *c, uint64_t fn)
{
	if (near(c, fn)) {
		a_b(c, A_BL, (int64_t)(fn - ((uintptr_t)c->base + c->pos)));
		return;
	}
	a_mov_imm(c, FN, fn);
	a4(c, A_BLR | FN << 5);
}

static void run_to_x0(struct nb_jit_ctx *c)
{
	a_add_imm(c, true, A_ADD, 0, run_base(c), 0);
}

static void call_helper(struct nb_jit_ctx *c, const struct nb_code *i)
{
	run_to_x0(c);
	call_out(c, (uint64_t)i->imm);
	a_mov(c, true, R0, 0);
}

/* Flags of @reg compared with @v; changes T3. */
static void compare_with(struct nb_jit_ctx *c, unsigned reg, uint32_t v)
{
	if (fits12(v)) {
		a_add_imm(c, false, A_SUBS, ZR, reg, v);
	} else {
		a_mov_imm(c, T3, v);
		a_rrr(c, false, A_SUBS, ZR, reg, T3);
	}
}

/* R0 += @reg times @size; changes T3. */
static void add_scaled(struct nb_jit_ctx *c, unsigned reg, uint64_t size)
{
	if (nb_jit_power_of_two(size)) {
		a_add_shifted(c, R0, R0, reg, (unsigned)__builtin_ctzll(size));
	} else {
		a_mov_imm(c, T3, size);
		a_madd(c, true, R0, reg, T3, R0);
	}
}

static void lookup_array(struct nb_jit_ctx *c, const struct nb_map *m)
{
	a_mem(c, A_LOAD, 2, T0, reg_of[2], 0);
	a_mov_imm(c, R0, (uintptr_t)m->base);
	add_scaled(c, T0, m->elem_size);
	compare_with(c, T0, m->max_entries);
	a_csel(c, R0, R0, ZR, CC_LO);
}

/* The run's CPU in T0; returns a branch for when it is not known. */
static uint32_t load_cpu(struct nb_jit_ctx *c)
{
	a_mem(c, A_LOAD, 2, T0, run_base(c), RUN_CPU);
	compare_with(c, T0, nb_cpu_limit());
	return a_skip(c, A_BCOND | CC_HS);
}

static void cpu(struct nb_jit_ctx *c, const struct nb_code *i)
{
	uint32_t ask = load_cpu(c), done;

	a_mov(c, false, R0, T0);
	done = a_skip(c, A_B);
	a_land(c, ask);
	call_helper(c, i);
	a_land(c, done);
}

/* The helper has the answer where the CPU is not known or there is none. */
static void lookup_percpu(struct nb_jit_ctx *c, uint32_t pc)
{
	const struct nb_jit_fact *f = &c->fact[pc];
	const struct nb_map *m = f->map;
	uint32_t ask = load_cpu(c), none = 0, done;
	uint64_t base = (uintptr_t)m->base;
	bool at = f->lookup == NB_JIT_LOOKUP_PERCPU_AT;

	if (!at) {
		a_mem(c, A_LOAD, 2, T1, reg_of[2], 0);
		compare_with(c, T1, m->max_entries);
		none = a_skip(c, A_BCOND | CC_HS);
	}
	a_mov_imm(c, R0, at ? base + m->elem_size * f->key : base);
	add_scaled(c, T0, m->cpu_size);
	if (!at)
		add_scaled(c, T1, m->elem_size);
	done = a_skip(c, A_B);
	a_land(c, ask);
	if (!at)
		a_land(c, none);
	call_helper(c, &c->code[pc]);
	a_land(c, done);
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
	a_mov_imm(c, 0, (uintptr_t)m);
	a_mov(c, true, 1, reg_of[2]);
	if (m->percpu)
		a_mov(c, false, 2, T0);
	else
		a_mov_imm(c, 2, 0);
	call_out(c, fn);
	a_mov(c, true, R0, 0);
	if (!m->percpu)
		return;
	done = a_skip(c, A_B);
	a_land(c, ask);
	call_helper(c, &c->code[pc]);
	a_land(c, done);
}

/* Where tail calls ask for it, the number of frames is kept. */
static void count_frame(struct nb_jit_ctx *c, uint32_t op)
{
	if (!c->needs.links)
		return;
	a_mem(c, A_LOAD, 2, T0, RUN, RUN_DEPTH);
	a_add_imm(c, false, op, T0, T0, 1);
	a_mem(c, A_STORE, 2, T0, RUN, RUN_DEPTH);
}

/* What a call site saves, an even number of registers. */
static unsigned saved_at_call(const struct nb_jit_ctx *c, unsigned list[6])
{
	unsigned n = changed(c, list);

	list[n++] = FRAME;
	if (n % 2)
		list[n++] = ZR;
	return n;
}

/* r6 to r9, r10, and a frame with @more bytes above its return address. */
static void enter_frame(struct nb_jit_ctx *c, uint32_t more)
{
	unsigned list[6], n = saved_at_call(c, list);

	for (unsigned i = 0; i < n; i += 2)
		a_push_pair(c, list[i], list[i + 1]);
	move_sp(c, A_SUB, NB_STACK_SIZE + RETURN + more);
	a_add_imm(c, true, A_ADD, FRAME, SP, NB_STACK_SIZE);
	count_frame(c, A_ADD);
}

static void leave_frame(struct nb_jit_ctx *c, uint32_t more)
{
	unsigned list[6], n = saved_at_call(c, list);

	count_frame(c, A_SUB);
	move_sp(c, A_ADD, NB_STACK_SIZE + RETURN + more);
	for (; n; n -= 2)
		a_pop_pair(c, list[n - 2], list[n - 1]);
}

static void call_local(struct nb_jit_ctx *c, uint32_t pc)
{
	enter_frame(c, 0);
	call_slot(c, nb_jit_target(c, pc));
	leave_frame(c, 0);
}

/* ---- locks and records -------------------------------------------------- */

/* The run's number in T0: what nb_spin_number says. */
static void spin_number(struct nb_jit_ctx *c)
{
	a_add_imm(c, true, A_ADD, T0, run_base(c), 0);
	a_shift_imm(c, true, A_LSR, T0, T0, NB_SPIN_SHIFT);
	a_mov_imm(c, T1, 1);
	a_add_imm(c, false, A_SUBS, ZR, T0, 0);
	a_csel(c, T0, T1, T0, CC_EQ);
}

/*
 * If the word at r1 is what T1 says, it becomes what T2 says; T1 is then what
 * it was. Acquire and release.
 */
static void spin_swap(struct nb_jit_ctx *c)
{
	a_ordered(c, A_CAS, 2, T1, T2, reg_of[1]);
}

/* Free: one compare-and-swap. Else the helper, which waits. Without that
 * instruction always the helper. */
static void spin_lock(struct nb_jit_ctx *c, const struct nb_code *i)
{
	uint32_t taken, done;

	if (!(c->features & FEATURE_LSE)) {
		call_helper(c, i);
		return;
	}
	spin_number(c);
	a_mov(c, false, T2, T0);
	a_mov(c, true, T1, ZR);
	spin_swap(c);
	a_mov(c, true, R0, ZR);
	taken = a_skip(c, A_CBNZ | T1);
	done = a_skip(c, A_B);
	a_land(c, taken);
	call_helper(c, i);
	a_land(c, done);
}

/* Not ours any more: nothing changes. */
static void spin_unlock(struct nb_jit_ctx *c, const struct nb_code *i)
{
	if (!(c->features & FEATURE_LSE)) {
		call_helper(c, i);
		return;
	}
	spin_number(c);
	a_mov(c, false, T1, T0);
	a_mov(c, true, T2, ZR);
	spin_swap(c);
	a_mov(c, true, R0, ZR);
}

/* The flags are not bits of one byte: they change in a register. */
static void ring_finish(struct nb_jit_ctx *c, bool discard)
{
	const uint32_t flip = discard ? NB_RINGBUF_BUSY | NB_RINGBUF_DISCARD
				      : NB_RINGBUF_BUSY;

	a_add_imm(c, true, A_SUB, T1, reg_of[1], NB_RINGBUF_HEADER);
	a_mem(c, A_LOAD, 2, T0, T1, 0);
	a_mov_imm(c, T2, flip);
	a_rrr(c, false, A_EOR, T0, T0, T2);
	a_ordered(c, A_STLR, 2, 0, T0, T1);
	a_mov(c, true, R0, ZR);
}

/* ---- callbacks ---------------------------------------------------------- */

/* From r10 of the callback on: the return address, and what nobody looks at
 * but the loop itself. */
enum {
	LOOP_CALLBACK = RETURN,
	LOOP_LIMIT = LOOP_CALLBACK + 8,
	LOOP_EACH = LOOP_LIMIT + 8, /* struct nb_each */
	LOOP_DONE = LOOP_EACH + offsetof(struct nb_each, done),
	LOOP_CTX = LOOP_EACH + offsetof(struct nb_each, ctx),
	LOOP_MAP = LOOP_EACH + offsetof(struct nb_each, map),
	LOOP_CURSOR = LOOP_EACH + offsetof(struct nb_each, cursor),
	LOOP_KEY = LOOP_CURSOR + offsetof(struct nb_map_cursor, key),
	LOOP_VALUE = LOOP_CURSOR + offsetof(struct nb_map_cursor, value),
	LOOP_SIZE = (16 + sizeof(struct nb_each) + 15) / 16 * 16
};

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
		call_slot(c, (uint32_t)c->fact[pc].value);
		return;
	}
	for (uint32_t i = 0; i < n; i++) {
		a_mem(c, A_LOAD, 2, T0, FRAME, LOOP_CALLBACK);
		a_mov_imm(c, T1, c->callback[i]);
		a_rrr(c, false, A_SUBS, ZR, T0, T1);
		other = a_skip(c, A_BCOND | CC_NE);
		call_slot(c, c->callback[i]);
		done[i] = a_skip(c, A_B);
		a_land(c, other);
	}
	trap(c);
	for (uint32_t i = 0; i < n; i++)
		a_land(c, done[i]);
}

/* Frame and loop data of a callback; r1 to r3 are still the helper's. */
static void begin_loop(struct nb_jit_ctx *c)
{
	enter_frame(c, LOOP_SIZE);
	a_mem(c, A_STORE, 3, ZR, FRAME, LOOP_DONE);
	a_mem(c, A_STORE, 3, reg_of[3], FRAME, LOOP_CTX);
	a_mem(c, A_STORE, 3, reg_of[2], FRAME, LOOP_CALLBACK);
}

static void end_loop(struct nb_jit_ctx *c)
{
	a_mem(c, A_LOAD, 2, R0, FRAME, LOOP_DONE);
	leave_frame(c, LOOP_SIZE);
}

/* One more turn; returns a jump for when none is left. */
static uint32_t take_turn(struct nb_jit_ctx *c)
{
	uint32_t none;

	a_mem(c, A_LOAD, 2, T0, run_base(c), RUN_TURNS);
	none = a_skip(c, A_CBZ | T0);
	a_add_imm(c, false, A_SUB, T0, T0, 1);
	a_mem(c, A_STORE, 2, T0, run_base(c), RUN_TURNS);
	return none;
}

static void loop(struct nb_jit_ctx *c, uint32_t pc)
{
	uint32_t bad_flags, too_many, none, over, stop, again;

	a_mov_imm(c, R0, (uint64_t)-EINVAL);
	bad_flags = a_skip(c, A_CBNZ | wide_bit(true) | reg_of[4]);
	a_mov_imm(c, R0, (uint64_t)-E2BIG);
	a_add_imm(c, false, A_SUBS, ZR, reg_of[1], NB_LOOP_MAX);
	too_many = a_skip(c, A_BCOND | CC_HI);
	a_mov_imm(c, R0, 0);
	none = a_skip(c, A_CBZ | reg_of[1]);
	begin_loop(c);
	a_mem(c, A_STORE, 2, reg_of[1], FRAME, LOOP_LIMIT);
	again = c->pos;
	over = take_turn(c);
	a_mem(c, A_LOAD, 2, reg_of[1], FRAME, LOOP_DONE);
	a_mem(c, A_LOAD, 3, reg_of[2], FRAME, LOOP_CTX);
	a_add_imm(c, false, A_ADD, T0, reg_of[1], 1);
	a_mem(c, A_STORE, 2, T0, FRAME, LOOP_DONE);
	call_back(c, pc);
	stop = a_skip(c, A_CBNZ | wide_bit(true) | R0);
	a_mem(c, A_LOAD, 2, T0, FRAME, LOOP_DONE);
	a_mem(c, A_LOAD, 2, T1, FRAME, LOOP_LIMIT);
	a_rrr(c, false, A_SUBS, ZR, T0, T1);
	a_b19(c, A_BCOND | CC_LO, (int64_t)again - c->pos);
	a_land(c, stop);
	a_land(c, over);
	end_loop(c);
	a_land(c, bad_flags);
	a_land(c, too_many);
	a_land(c, none);
}

static void call_each_next(struct nb_jit_ctx *c)
{
	uint64_t fn = 0;
	bool (*next)(struct nb_run *, struct nb_each *) = nb_each_next;

	memcpy(&fn, &next, sizeof(next));
	run_to_x0(c);
	a_add_imm(c, true, A_ADD, 1, FRAME, LOOP_EACH);
	call_out(c, fn);
	a_bitfield(c, false, A_UBFM, T0, 0, 0, 7); /* a bool has 8 bits */
}

static void each(struct nb_jit_ctx *c, uint32_t pc)
{
	uint32_t bad_flags, end, again;

	a_mov_imm(c, R0, (uint64_t)-EINVAL);
	bad_flags = a_skip(c, A_CBNZ | wide_bit(true) | reg_of[4]);
	begin_loop(c);
	a_mem(c, A_STORE, 3, reg_of[1], FRAME, LOOP_MAP);
	for (uint32_t i = 0; i < sizeof(struct nb_map_cursor); i += 8)
		a_mem(c, A_STORE, 3, ZR, FRAME, LOOP_CURSOR + i);
	again = c->pos;
	call_each_next(c);
	end = a_skip(c, A_CBZ | T0);
	a_mem(c, A_LOAD, 3, reg_of[1], FRAME, LOOP_MAP);
	a_mem(c, A_LOAD, 3, reg_of[2], FRAME, LOOP_KEY);
	a_mem(c, A_LOAD, 3, reg_of[3], FRAME, LOOP_VALUE);
	a_mem(c, A_LOAD, 3, reg_of[4], FRAME, LOOP_CTX);
	call_back(c, pc);
	a_b19(c, A_CBZ | wide_bit(true) | R0, (int64_t)again - c->pos);
	a_land(c, end);
	end_loop(c);
	a_land(c, bad_flags);
}

/* ---- tail calls --------------------------------------------------------- */

/*
 * All linked programs keep the same things in the same places, so that one
 * goes on in the frame of another: run data, the frame, the return address
 * above it, its caller's registers saved by the caller.
 */
static void tail_call(struct nb_jit_ctx *c, const struct nb_code *i)
{
	const void *(*find)(struct nb_run *, const struct nb_exec *,
			    const struct nb_map *, uint32_t) = nb_tail_body;
	uint64_t fn = 0;
	uint32_t none;

	memcpy(&fn, &find, sizeof(find));
	a_mem(c, A_STORE, 3, reg_of[1], RUN, RUN_CTX);
	run_to_x0(c);
	a_mov_imm(c, 1, (uint64_t)i->imm);
	call_out(c, fn); /* map and index are in x2 and x3 */
	a_mov(c, true, R0, 0);
	none = a_skip(c, A_CBZ | wide_bit(true) | 0);
	a_mem(c, A_LOAD, 3, reg_of[1], RUN, RUN_CTX);
	a_mov_imm(c, R0, 0);
	a4(c, A_BR | 0 << 5);
	a_land(c, none);
}

/* ---- the rest of the slots ---------------------------------------------- */

static void jump(struct nb_jit_ctx *c, uint32_t pc)
{
	jump_if(c, pc, CC_ALWAYS);
}

static void constant(struct nb_jit_ctx *c, unsigned reg, uint64_t v)
{
	a_mov_imm(c, reg_of[reg], v);
}

/* One addition. */
static bool copy_and_add(struct nb_jit_ctx *c, const struct nb_code *i,
			 int64_t k)
{
	add_const(c, true, A_ADD, reg_of[i->dst], reg_of[i->src], k);
	return true;
}

static void load(struct nb_jit_ctx *c, const struct nb_code *i,
		 const struct nb_insn_spec *row)
{
	access(c, row->kind == NB_KIND_LDX ? A_LOAD : A_LOAD_SIGNED,
	       size_log(row), reg_of[i->dst], reg_of[i->src], i->off);
}

static void store(struct nb_jit_ctx *c, const struct nb_code *i,
		  const struct nb_insn_spec *row)
{
	access(c, A_STORE, size_log(row), reg_of[i->src], reg_of[i->dst],
	       i->off);
}

static void load_acquire(struct nb_jit_ctx *c, const struct nb_code *i,
			 const struct nb_insn_spec *row)
{
	a_ordered(c, A_LDAR, size_log(row), 0, reg_of[i->dst],
		  address(c, i->src, i->off));
}

static void store_release(struct nb_jit_ctx *c, const struct nb_code *i,
			  const struct nb_insn_spec *row)
{
	a_ordered(c, A_STLR, size_log(row), 0, reg_of[i->src],
		  address(c, i->dst, i->off));
}

/* ---- chains ------------------------------------------------------------- */

/* What a chain keeps while programs run. */
enum {
	CHAIN_CTX = 19,
	CHAIN_OVERRIDES = 20,
	CHAIN_BY = 21,	   /* the program that had the last word */
	CHAIN_ANSWER = 22, /* the answer so far, 8 bytes... */
	CHAIN_REST = 23	   /* ...and 4 */
};

static void load_answer(struct nb_jit_ctx *c, unsigned first, unsigned rest)
{
	const int32_t at = (int32_t)c->chain->answer;

	access(c, A_LOAD, 3, first, CHAIN_CTX, at);
	access(c, A_LOAD, 2, rest, CHAIN_CTX, at + 8);
}

/* Program @l, the chain's number @i. */
static void chain_step(struct nb_jit_ctx *c, const struct nb_jit_link *l,
		       uint32_t i)
{
	nb_engine_fn *entry = l->jit ? l->jit->entry : nb_exec_interpret;
	uint32_t changed, same;
	uint64_t fn = 0;

	memcpy(&fn, &entry, sizeof(entry));
	a_mov_imm(c, 0, (uintptr_t)l->x);
	a_mov(c, true, 1, CHAIN_CTX);
	a_mov_imm(c, 2, c->chain->ctx_size);
	call_out(c, fn);
	load_answer(c, T2, T3);
	a_rrr(c, true, A_SUBS, ZR, T2, CHAIN_ANSWER);
	changed = a_skip(c, A_BCOND | CC_NE);
	a_rrr(c, false, A_SUBS, ZR, T3, CHAIN_REST);
	same = a_skip(c, A_BCOND | CC_EQ);
	a_land(c, changed);
	access(c, A_LOAD, 3, T0, CHAIN_OVERRIDES, (int32_t)(8 * i));
	a_add_imm(c, true, A_ADD, T0, T0, 1);
	access(c, A_STORE, 3, T0, CHAIN_OVERRIDES, (int32_t)(8 * i));
	a_mov_imm(c, CHAIN_BY, i);
	a_mov(c, true, CHAIN_ANSWER, T2);
	a_mov(c, false, CHAIN_REST, T3);
	a_land(c, same);
}

static void chain(struct nb_jit_ctx *c)
{
	static const unsigned list[] = { FP,	     LR,
					 CHAIN_CTX,  CHAIN_OVERRIDES,
					 CHAIN_BY,   CHAIN_ANSWER,
					 CHAIN_REST, ZR };
	const unsigned n = sizeof(list) / sizeof(list[0]);
	uint32_t done = 0;

	a4(c, A_BTI_C);
	a_push_pair(c, FP, LR);
	a_add_imm(c, true, A_ADD, FP, SP, 0);
	for (unsigned i = 2; i < n; i += 2)
		a_push_pair(c, list[i], list[i + 1]);
	describe(c->frames, list, n);
	nb_jit_note(c, 16);
	a_mov(c, true, CHAIN_CTX, 1);
	a_mov(c, true, CHAIN_OVERRIDES, 2);
	a_mov_imm(c, CHAIN_BY, UINT32_MAX);
	load_answer(c, CHAIN_ANSWER, CHAIN_REST);
	for (uint32_t i = 0; i < c->chain->n; i++)
		if (c->chain->link[i].runs)
			chain_step(c, &c->chain->link[i], done++);
	a_mov(c, false, 0, CHAIN_BY);
	for (unsigned i = n; i; i -= 2)
		a_pop_pair(c, list[i - 2], list[i - 1]);
	a4(c, A_RET);
	trap(c);
}

static void flush(unsigned char *code, size_t size)
{
	__builtin___clear_cache((char *)code, (char *)code + size);
}

static unsigned features(void)
{
	return getauxval(AT_HWCAP) & HWCAP_LSE ? FEATURE_LSE : 0;
}

static const struct nb_jit_arch arch = {
	.name = "arm64",
	.features = features,
	/* BTI C; RET */
	.nothing = { 0x5f, 0x24, 0x03, 0xd5, 0xc0, 0x03, 0x5f, 0xd6 },
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
	.load_acquire = load_acquire,
	.store_release = store_release,
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

const struct nb_jit_arch *nb_jit_arch_arm64(void)
{
	return &arch;
}

#else

const struct nb_jit_arch *nb_jit_arch_arm64(void)
{
	return NULL;
}

#endif
