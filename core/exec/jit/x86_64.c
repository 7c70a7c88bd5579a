// SPDX-License-Identifier: MIT
// Lowering for x86-64: a program's entry and exit, chains, and the table of
// what the other x86_64_*.c emit. Registers and frames: x86_64.h.
#include "core/exec/jit/x86_64.h"

#if defined(__x86_64__)

#include <cpuid.h>
#include <elf.h>
#include <string.h>

#include "core/exec/jit/x86_64_alu.h"
#include "core/exec/jit/x86_64_call.h"
#include "core/exec/jit/x86_64_mem.h"
#include "core/map/ops.h"

/* ---- entry and exit ---------------------------------------------------- */

/* Those of r6 to r9 that the program changes, as machine registers. */
unsigned nb_x86_saved(const struct nb_jit_ctx *c, unsigned list[4])
{
	unsigned n = 0;

	for (unsigned r = 6; r < NB_R10; r++)
		if (c->needs.written >> r & 1)
			list[n++] = reg_of[r];
	return n;
}

void nb_x86_push_saved(struct nb_jit_ctx *c)
{
	unsigned list[4], n = nb_x86_saved(c, list);

	for (unsigned i = 0; i < n; i++)
		x_push(c, list[i]);
}

void nb_x86_pop_saved(struct nb_jit_ctx *c)
{
	unsigned list[4], n = nb_x86_saved(c, list);

	while (n)
		x_pop(c, list[--n]);
}

static unsigned npushed(const struct nb_jit_ctx *c)
{
	unsigned list[4];

	return nb_x86_saved(c, list) + frame_in_rbp(c) +
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
	nb_x86_pop_saved(c);
	e1(c, 0xc3);
}

void nb_x86_call_rel(struct nb_jit_ctx *c, uint32_t to)
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
	nb_x86_call_rel(c, c->off[0]);
	move_rsp(c, X_ADD, room);
	if (nb_jit_wants_run(c))
		x_pop(c, R13);
	x_pop(c, RBP);
	nb_x86_pop_saved(c);
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
	unsigned list[4], n = nb_x86_saved(c, list);
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
	nb_x86_push_saved(c);
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

void nb_x86_trap(struct nb_jit_ctx *c)
{
	e1(c, 0x0f); /* UD2 */
	e1(c, 0x0b);
}

/* ---- chains ------------------------------------------------------------ */

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
	nb_x86_call_out(c, fn);
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
	nb_x86_trap(c);
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
	.reaches = nb_x86_reaches,
	.flush = flush,
	.chain = chain,
	.begin = begin,
	.trap = nb_x86_trap,
	.alu = nb_x86_alu,
	.constant = nb_x86_constant,
	.copy_and_add = nb_x86_copy_and_add,
	.jump = nb_x86_jump,
	.compare_and_jump = nb_x86_compare_and_jump,
	.may_goto = nb_x86_may_goto,
	.leave = leave,
	.load = nb_x86_load,
	.store = nb_x86_store,
	.store_imm = nb_x86_store_imm,
	.load_acquire = nb_x86_load,
	.store_release = nb_x86_store,
	.atomic = nb_x86_atomic,
	.call_local = nb_x86_call_local,
	.call_helper = nb_x86_call_helper,
	.lookup_array = nb_x86_lookup_array,
	.lookup_percpu = nb_x86_lookup_percpu,
	.lookup_direct = nb_x86_lookup_direct,
	.cpu = nb_x86_cpu,
	.loop = nb_x86_loop,
	.each = nb_x86_each,
	.tail_call = nb_x86_tail_call,
	.spin_lock = nb_x86_spin_lock,
	.spin_unlock = nb_x86_spin_unlock,
	.ring_finish = nb_x86_ring_finish,
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
