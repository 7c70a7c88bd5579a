// SPDX-License-Identifier: MIT
// Calls on 64-bit Arm: helpers and what stands in line in their place (maps,
// locks, records, the CPU's number), functions of the program, callbacks, tail
// calls.
#include "core/exec/jit/arm64_call.h"

#if defined(__aarch64__)

#include <errno.h>
#include <string.h>

#include "core/exec/run/spin.h"
#include "core/map/ops.h"
#include "core/map/ringbuf.h"

/* ---- calls ------------------------------------------------------------- */

/* BL reaches 128 MiB, from anywhere in the code. */
static bool near(const struct nb_jit_ctx *c, uint64_t fn)
{
	int64_t distance = (int64_t)(fn - (uintptr_t)c->base);

	return c->base && distance > -(128 << 20) + NB_JIT_MAX_CODE &&
	       distance < (128 << 20) - NB_JIT_MAX_CODE;
}

void nb_arm_call_out(struct nb_jit_ctx *c, uint64_t fn)
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

void nb_arm_call_helper(struct nb_jit_ctx *c, const struct nb_code *i)
{
	run_to_x0(c);
	nb_arm_call_out(c, (uint64_t)i->imm);
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

void nb_arm_lookup_array(struct nb_jit_ctx *c, const struct nb_map *m)
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

void nb_arm_cpu(struct nb_jit_ctx *c, const struct nb_code *i)
{
	uint32_t ask = load_cpu(c), done;

	a_mov(c, false, R0, T0);
	done = a_skip(c, A_B);
	a_land(c, ask);
	nb_arm_call_helper(c, i);
	a_land(c, done);
}

/* The helper has the answer where the CPU is not known or there is none. */
void nb_arm_lookup_percpu(struct nb_jit_ctx *c, uint32_t pc)
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
	nb_arm_call_helper(c, &c->code[pc]);
	a_land(c, done);
}

/* The map's operation in the place of the helper that would call it. */
void nb_arm_lookup_direct(struct nb_jit_ctx *c, uint32_t pc)
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
	nb_arm_call_out(c, fn);
	a_mov(c, true, R0, 0);
	if (!m->percpu)
		return;
	done = a_skip(c, A_B);
	a_land(c, ask);
	nb_arm_call_helper(c, &c->code[pc]);
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
	unsigned n = nb_arm_changed(c, list);

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

void nb_arm_call_local(struct nb_jit_ctx *c, uint32_t pc)
{
	enter_frame(c, 0);
	nb_arm_call_slot(c, nb_jit_target(c, pc));
	leave_frame(c, 0);
}

/* ---- locks and records ------------------------------------------------- */

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
void nb_arm_spin_lock(struct nb_jit_ctx *c, const struct nb_code *i)
{
	uint32_t taken, done;

	if (!(c->features & FEATURE_LSE)) {
		nb_arm_call_helper(c, i);
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
	nb_arm_call_helper(c, i);
	a_land(c, done);
}

/* Not ours any more: nothing changes. */
void nb_arm_spin_unlock(struct nb_jit_ctx *c, const struct nb_code *i)
{
	if (!(c->features & FEATURE_LSE)) {
		nb_arm_call_helper(c, i);
		return;
	}
	spin_number(c);
	a_mov(c, false, T1, T0);
	a_mov(c, true, T2, ZR);
	spin_swap(c);
	a_mov(c, true, R0, ZR);
}

/* The flags are not bits of one byte: they change in a register. */
void nb_arm_ring_finish(struct nb_jit_ctx *c, bool discard)
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

/* ---- callbacks --------------------------------------------------------- */

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
		nb_arm_call_slot(c, (uint32_t)c->fact[pc].value);
		return;
	}
	for (uint32_t i = 0; i < n; i++) {
		a_mem(c, A_LOAD, 2, T0, FRAME, LOOP_CALLBACK);
		a_mov_imm(c, T1, c->callback[i]);
		a_rrr(c, false, A_SUBS, ZR, T0, T1);
		other = a_skip(c, A_BCOND | CC_NE);
		nb_arm_call_slot(c, c->callback[i]);
		done[i] = a_skip(c, A_B);
		a_land(c, other);
	}
	nb_arm_trap(c);
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

void nb_arm_loop(struct nb_jit_ctx *c, uint32_t pc)
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
	nb_arm_call_out(c, fn);
	a_bitfield(c, false, A_UBFM, T0, 0, 0, 7); /* a bool has 8 bits */
}

void nb_arm_each(struct nb_jit_ctx *c, uint32_t pc)
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

/* ---- tail calls -------------------------------------------------------- */

/*
 * All linked programs keep the same things in the same places, so that one
 * goes on in the frame of another: run data, the frame, the return address
 * above it, its caller's registers saved by the caller.
 */
void nb_arm_tail_call(struct nb_jit_ctx *c, const struct nb_code *i)
{
	const void *(*find)(struct nb_run *, const struct nb_exec *,
			    const struct nb_map *, uint32_t) = nb_tail_body;
	uint64_t fn = 0;
	uint32_t none;

	memcpy(&fn, &find, sizeof(find));
	a_mem(c, A_STORE, 3, reg_of[1], RUN, RUN_CTX);
	run_to_x0(c);
	a_mov_imm(c, 1, (uint64_t)i->imm);
	nb_arm_call_out(c, fn); /* map and index are in x2 and x3 */
	a_mov(c, true, R0, 0);
	none = a_skip(c, A_CBZ | wide_bit(true) | 0);
	a_mem(c, A_LOAD, 3, reg_of[1], RUN, RUN_CTX);
	a_mov_imm(c, R0, 0);
	a4(c, A_BR | 0 << 5);
	a_land(c, none);
}

#endif
