// SPDX-License-Identifier: MIT
// Lowering for 64-bit Arm: a program's entry and exit, chains, and the table of
// what the other arm64_*.c emit. Registers and frames: arm64.h.
#include "core/exec/jit/arm64.h"

#if defined(__aarch64__)

#include <elf.h>
#include <string.h>
#include <sys/auxv.h>

#include "core/exec/jit/arm64_alu.h"
#include "core/exec/jit/arm64_call.h"
#include "core/exec/jit/arm64_mem.h"
#include "core/map/ops.h"

/* ---- entry and exit ---------------------------------------------------- */

/* Those of r6 to r9 that the program changes, as machine registers. */
unsigned nb_arm_changed(const struct nb_jit_ctx *c, unsigned list[4])
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
	unsigned n = nb_arm_changed(c, list);

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
void nb_arm_call_slot(struct nb_jit_ctx *c, uint32_t slot)
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
	nb_arm_call_slot(c, 0);
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

void nb_arm_trap(struct nb_jit_ctx *c)
{
	a4(c, A_UDF);
}

/* ---- chains ------------------------------------------------------------ */

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

	nb_arm_access(c, A_LOAD, 3, first, CHAIN_CTX, at);
	nb_arm_access(c, A_LOAD, 2, rest, CHAIN_CTX, at + 8);
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
	nb_arm_call_out(c, fn);
	load_answer(c, T2, T3);
	a_rrr(c, true, A_SUBS, ZR, T2, CHAIN_ANSWER);
	changed = a_skip(c, A_BCOND | CC_NE);
	a_rrr(c, false, A_SUBS, ZR, T3, CHAIN_REST);
	same = a_skip(c, A_BCOND | CC_EQ);
	a_land(c, changed);
	nb_arm_access(c, A_LOAD, 3, T0, CHAIN_OVERRIDES, (int32_t)(8 * i));
	a_add_imm(c, true, A_ADD, T0, T0, 1);
	nb_arm_access(c, A_STORE, 3, T0, CHAIN_OVERRIDES, (int32_t)(8 * i));
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
	nb_arm_trap(c);
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
	.reaches = nb_arm_reaches,
	.flush = flush,
	.chain = chain,
	.begin = begin,
	.trap = nb_arm_trap,
	.alu = nb_arm_alu,
	.constant = nb_arm_constant,
	.copy_and_add = nb_arm_copy_and_add,
	.jump = nb_arm_jump,
	.compare_and_jump = nb_arm_compare_and_jump,
	.may_goto = nb_arm_may_goto,
	.leave = leave,
	.load = nb_arm_load,
	.store = nb_arm_store,
	.store_imm = nb_arm_store_imm,
	.load_acquire = nb_arm_load_acquire,
	.store_release = nb_arm_store_release,
	.atomic = nb_arm_atomic,
	.call_local = nb_arm_call_local,
	.call_helper = nb_arm_call_helper,
	.lookup_array = nb_arm_lookup_array,
	.lookup_percpu = nb_arm_lookup_percpu,
	.lookup_direct = nb_arm_lookup_direct,
	.cpu = nb_arm_cpu,
	.loop = nb_arm_loop,
	.each = nb_arm_each,
	.tail_call = nb_arm_tail_call,
	.spin_lock = nb_arm_spin_lock,
	.spin_unlock = nb_arm_spin_unlock,
	.ring_finish = nb_arm_ring_finish,
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
