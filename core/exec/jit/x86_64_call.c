// SPDX-License-Identifier: MIT
// Calls on x86-64: helpers and what stands in line in their place (maps, locks,
// records, the CPU's number), functions of the program, callbacks, tail calls.
#include "core/exec/jit/x86_64_call.h"

#if defined(__x86_64__)

#include <errno.h>
#include <string.h>

#include "core/exec/jit/x86_64_mem.h"
#include "core/exec/run/spin.h"
#include "core/map/ops.h"
#include "core/map/ringbuf.h"

/* ---- calls ------------------------------------------------------------- */

/* A call reaches 2 GiB, from anywhere in the code. */
static bool near(const struct nb_jit_ctx *c, uint64_t fn)
{
	int64_t distance = (int64_t)(fn - (uintptr_t)c->base);

	return c->base && distance > INT32_MIN + NB_JIT_MAX_CODE &&
	       distance < INT32_MAX - NB_JIT_MAX_CODE;
}

void nb_x86_call_out(struct nb_jit_ctx *c, uint64_t fn)
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

void nb_x86_call_helper(struct nb_jit_ctx *c, const struct nb_code *i)
{
	if (c->needs.calls_local)
		x_mov(c, true, RDI, R13);
	else
		x_mov(c, true, RDI, RSP);
	nb_x86_call_out(c, (uint64_t)i->imm);
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

void nb_x86_lookup_array(struct nb_jit_ctx *c, const struct nb_map *m)
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

void nb_x86_cpu(struct nb_jit_ctx *c, const struct nb_code *i)
{
	uint32_t ask = load_cpu(c), done = x_skip(c, 0xeb);

	x_land(c, ask);
	nb_x86_call_helper(c, i);
	x_land(c, done);
}

/* The helper has the answer where the CPU is not known or there is none. */
void nb_x86_lookup_percpu(struct nb_jit_ctx *c, uint32_t pc)
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
	nb_x86_call_helper(c, &c->code[pc]);
	x_land(c, done);
}

/* The map's operation in the place of the helper that would call it; the CPU's
 * number, if it looks at one, is in RAX. */
static void call_lookup(struct nb_jit_ctx *c, struct nb_map *m)
{
	uint64_t fn = 0;

	memcpy(&fn, &m->lookup, sizeof(m->lookup));
	x_mov_imm(c, RDI, (uintptr_t)m);
	x_mov(c, true, RSI, RDX);
	if (m->percpu)
		x_mov(c, false, RDX, RAX);
	else
		x_mov_imm(c, RDX, 0);
	nb_x86_call_out(c, fn);
}

/* Jumps if the bucket at R11 has given an element away since it held R10. */
static uint32_t moved_on(struct nb_jit_ctx *c)
{
	op_rm(c, true, 0x8b, R8, (struct mem){ R11, 0 });
	x_alu(c, true, X_XOR, R8, R10);
	x_shift_imm(c, true, X_SHR, R8, NB_HASH_SEQ_BIT);
	return x_skip_if(c, CC_NE);
}

/*
 * A walk of the key's chain, as find_words in core/map/hash.h. The key in RAX
 * (read by halves, as there), its bucket at R11, the bucket's word in R10,
 * elements from RCX on. Where the chain changed meanwhile: the map's operation,
 * which walks again.
 */
static void lookup_hash(struct nb_jit_ctx *c, struct nb_map *m,
			const struct nb_hash_places *h)
{
	uint32_t top, none, hit, changed[2], done[2];

	op_rm(c, false, 0x8b, RAX, (struct mem){ RDX, 0 });
	if (m->def.key_size == 8) {
		op_rm(c, false, 0x8b, RDI, (struct mem){ RDX, 4 });
		x_shift_imm(c, true, X_SHL, RDI, 32);
		x_alu(c, true, X_OR, RAX, RDI);
	}
	x_mov_imm(c, R11, h->factor);
	x_imul(c, true, R11, RAX);
	x_shift_imm(c, true, X_SHR, R11, h->shift);
	x_mov_imm(c, RDI, h->bucket);
	x_mov_imm(c, RCX, h->elem);
	x_lea8(c, R11, RDI, R11);
	op_rm(c, true, 0x8b, R10, (struct mem){ R11, 0 });
	x_mov(c, false, RSI, R10);
	top = c->pos;
	x_alu_imm(c, false, X_CMP, RSI, -1);
	none = x_skip_if(c, CC_E);
	x_lea8(c, RDI, RCX, RSI);
	op_rm(c, true, 0x3b, RAX, (struct mem){ RDI, NB_HASH_KEY });
	hit = x_skip_if(c, CC_E);
	op_rm(c, false, 0x8b, RSI, (struct mem){ RDI, 0 });
	changed[0] = moved_on(c);
	e1(c, 0xeb);
	e1(c, (uint8_t)(top - (c->pos + 1)));
	x_land(c, hit);
	changed[1] = moved_on(c);
	x_lea(c, RAX, (struct mem){ RDI, (int32_t)h->value_off });
	done[0] = x_skip(c, 0xeb);
	x_land(c, none);
	x_mov_imm(c, RAX, 0);
	done[1] = x_skip(c, 0xeb);
	x_land(c, changed[0]);
	x_land(c, changed[1]);
	call_lookup(c, m);
	x_land(c, done[0]);
	x_land(c, done[1]);
}

void nb_x86_lookup_direct(struct nb_jit_ctx *c, uint32_t pc)
{
	struct nb_map *m = c->fact[pc].map;
	struct nb_hash_places h;
	uint32_t ask, done;

	if (nb_hash_where(m, &h)) {
		lookup_hash(c, m, &h);
		return;
	}
	if (!m->percpu) {
		call_lookup(c, m);
		return;
	}
	ask = load_cpu(c);
	call_lookup(c, m);
	done = x_skip(c, 0xeb);
	x_land(c, ask);
	nb_x86_call_helper(c, &c->code[pc]);
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

	nb_x86_push_saved(c);
	x_push(c, RBP);
	more += 8 + NB_STACK_SIZE + ((nb_x86_saved(c, list) + 1) % 2 ? 8 : 0);
	move_rsp(c, X_SUB, more);
	nb_jit_note(c, 16 + 8 * nb_x86_saved(c, list) + (uint32_t)more);
	x_lea(c, RBP, (struct mem){ RSP, 8 + NB_STACK_SIZE });
	count_frame(c, 0);
}

static void leave_frame(struct nb_jit_ctx *c, int32_t more)
{
	unsigned list[4];

	count_frame(c, 1);
	more += 8 + NB_STACK_SIZE + ((nb_x86_saved(c, list) + 1) % 2 ? 8 : 0);
	move_rsp(c, X_ADD, more);
	x_pop(c, RBP);
	nb_x86_pop_saved(c);
	nb_jit_note(c, 8);
}

void nb_x86_call_local(struct nb_jit_ctx *c, uint32_t pc)
{
	enter_frame(c, 0);
	nb_x86_call_rel(c, c->off[nb_jit_target(c, pc)]);
	leave_frame(c, 0);
}

/* ---- locks and records ------------------------------------------------- */

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
void nb_x86_spin_lock(struct nb_jit_ctx *c, const struct nb_code *i)
{
	uint32_t done;

	spin_number(c);
	x_mov_imm(c, RAX, 0);
	nb_x86_locked(c, false, 0x0fb1, R11, (struct mem){ RSI, 0 });
	done = x_skip_if(c, CC_E);
	nb_x86_call_helper(c, i);
	x_land(c, done);
}

/* Not ours any more: nothing changes. */
void nb_x86_spin_unlock(struct nb_jit_ctx *c, const struct nb_code *i)
{
	(void)i;
	spin_number(c);
	x_mov(c, false, RAX, R11);
	x_mov_imm(c, R11, 0);
	nb_x86_locked(c, false, 0x0fb1, R11, (struct mem){ RSI, 0 });
	x_mov_imm(c, RAX, 0);
}

void nb_x86_ring_finish(struct nb_jit_ctx *c, bool discard)
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

/* ---- callbacks --------------------------------------------------------- */

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
		nb_x86_call_rel(c, c->off[c->fact[pc].value]);
		return;
	}
	for (uint32_t i = 0; i < n; i++) {
		op_rm(c, false, 0x81, X_CMP, loop_data(LOOP_CALLBACK));
		e4(c, c->callback[i]);
		other = x_skip_if(c, CC_NE);
		nb_x86_call_rel(c, c->off[c->callback[i]]);
		done[i] = x_skip32(c);
		x_land(c, other);
	}
	nb_x86_trap(c);
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

void nb_x86_loop(struct nb_jit_ctx *c, uint32_t pc)
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
	nb_x86_call_out(c, fn);
	move_rsp(c, X_ADD, 8);
}

void nb_x86_each(struct nb_jit_ctx *c, uint32_t pc)
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

/* ---- tail calls -------------------------------------------------------- */

/*
 * All linked programs keep the same things in the same places, so that one
 * goes on in the frame of another: run data at R13, the frame at RBP, its
 * caller's registers saved by the caller.
 */
void nb_x86_tail_call(struct nb_jit_ctx *c, const struct nb_code *i)
{
	const void *(*find)(struct nb_run *, const struct nb_exec *,
			    const struct nb_map *, uint32_t) = nb_tail_body;
	uint64_t fn = 0;
	uint32_t none;

	memcpy(&fn, &find, sizeof(find));
	op_rm(c, true, 0x89, RSI, run_data(c, RUN_CTX));
	x_mov(c, true, RDI, R13);
	x_mov_imm(c, RSI, (uint64_t)i->imm);
	nb_x86_call_out(c, fn); /* map and index are in RDX and RCX */
	x_test(c, true, RAX, RAX);
	none = x_skip_if(c, CC_E);
	op_rm(c, true, 0x8b, RSI, run_data(c, RUN_CTX));
	e1(c, 0xff);
	e1(c, 0xe0); /* JMP RAX */
	x_land(c, none);
}

#endif
