// SPDX-License-Identifier: MIT
/*
 * The lowering that all machines share: code for each slot, helpers and
 * their inline forms (maps, records, the CPU's number), functions of
 * the program and callbacks. machine.h declares the instructions.
 */
#include "core/bpf/exec/jit/lower.h"

#ifdef NB_JIT_MACHINE

#include <errno.h>
#include <string.h>

#include "core/bpf/map/ops.h"

/* The address of a function, for which ISO C has no cast. */
#define ADDRESS_OF(fn)                                       \
	__extension__({                                      \
		__typeof__(&*(fn)) pointer = (fn);           \
		uint64_t address = 0;                        \
		memcpy(&address, &pointer, sizeof(pointer)); \
		address;                                     \
	})

unsigned nb_lower_saved(const struct nb_jit_ctx *c, unsigned list[4])
{
	unsigned n = 0;

	for (unsigned r = 6; r < NB_R10; r++)
		if (c->needs.written >> r & 1)
			list[n++] = reg_of(r);
	return n;
}

static struct mem run_cpu(const struct nb_jit_ctx *c)
{
	return nb_emit_run(c, offsetof(struct nb_run, cpu));
}

/* Store the CPU's number from the thread's area in the run's data, like
 * nb_cpu_seen. */
static void see_cpu(struct nb_jit_ctx *c)
{
	if (!nb_cpu_area()) {
		nb_emit_put_const(c, 2, run_cpu(c), UINT32_MAX);
		return;
	}
	nb_emit_get_thread(c, nb_cpu_area());
	nb_emit_put(c, 2, nb_machine.temp, run_cpu(c));
}

static void field_init(struct nb_jit_ctx *c, size_t off, uint32_t v)
{
	nb_emit_put_const(c, 2, nb_emit_run(c, off), v);
}

void nb_lower_run_data(struct nb_jit_ctx *c)
{
	const struct mem trace = { nb_machine.arg[0], offsetof(struct nb_exec, trace) };
	const struct mem state = { reg_of(1), (int32_t)c->x->state_at };

	if (c->needs.run) {
		nb_emit_get(c, 3, nb_machine.temp, trace);
		nb_emit_put(c, 3, nb_machine.temp, nb_emit_run(c, offsetof(struct nb_run, trace)));
		see_cpu(c);
	}
	if (c->needs.run && c->x->state_at) {
		nb_emit_get(c, 3, nb_machine.temp, state);
		nb_emit_put(c, 3, nb_machine.temp, nb_emit_run(c, offsetof(struct nb_run, state)));
	}
	if (c->needs.iterations) {
		field_init(c, offsetof(struct nb_run, iterations), c->x->iterations);
		field_init(c, offsetof(struct nb_run, iter_steps), c->x->iter_steps);
	}
	if (c->needs.may_goto)
		field_init(c, NB_JIT_RUN_PASSES, c->x->passes);
}

/* Call a function of C whose other arguments are in place; r0 is its result. */
static void call_out(struct nb_jit_ctx *c, uint64_t fn)
{
	nb_emit_call(c, fn);
	if (nb_machine.result != reg_of(0))
		nb_emit_move(c, true, reg_of(0), nb_machine.result);
}

static void run_as_argument(struct nb_jit_ctx *c)
{
	nb_emit_address(c, nb_machine.arg[0], nb_emit_run(c, 0));
}

static void call_helper(struct nb_jit_ctx *c, const struct nb_code *i)
{
	run_as_argument(c);
	call_out(c, (uint64_t)i->imm);
}

/* Load the run's CPU into the scratch register cpu. Emits a jump for an
 * unknown CPU and returns it. */
static uint32_t load_cpu(struct nb_jit_ctx *c)
{
	nb_emit_get(c, 2, nb_machine.cpu, run_cpu(c));
	return nb_emit_skip_if_const(c, NB_ORDER_GE, false, nb_machine.cpu, nb_cpu_limit(), false);
}

/* If the inline code jumped to @ask (or @ask_too), call the helper instead. */
static void else_helper(struct nb_jit_ctx *c, const struct nb_code *i, uint32_t ask,
			uint32_t ask_too)
{
	uint32_t done = nb_emit_skip(c, false);

	nb_emit_land(c, ask);
	if (ask_too)
		nb_emit_land(c, ask_too);
	call_helper(c, i);
	nb_emit_land(c, done);
}

static void cpu(struct nb_jit_ctx *c, const struct nb_code *i)
{
	uint32_t ask = load_cpu(c);

	if (nb_machine.cpu != reg_of(0))
		nb_emit_move(c, false, reg_of(0), nb_machine.cpu);
	else_helper(c, i, ask, 0);
}

static void lookup_percpu(struct nb_jit_ctx *c, uint32_t pc)
{
	const struct nb_jit_fact *f = &c->fact[pc];
	const struct nb_map *m = f->map;
	const uint64_t base = (uintptr_t)m->base;
	uint32_t ask = load_cpu(c), none = 0;

	if (f->lookup == NB_JIT_LOOKUP_PERCPU) {
		nb_emit_get(c, 2, nb_machine.index, (struct mem){ reg_of(2), 0 });
		none = nb_emit_skip_if_const(c, NB_ORDER_GE, false, nb_machine.index,
					     m->max_entries, false);
		nb_emit_element(c, base, m->cpu_size, m->elem_size);
	} else {
		nb_emit_element(c, base + m->elem_size * f->key, m->cpu_size, 0);
	}
	else_helper(c, &c->code[pc], ask, none);
}

void nb_lower_map_lookup(struct nb_jit_ctx *c, struct nb_map *m)
{
	nb_emit_const(c, nb_machine.arg[0], (uintptr_t)m);
	nb_emit_move(c, true, nb_machine.arg[1], reg_of(2));
	if (m->percpu)
		nb_emit_move(c, false, nb_machine.arg[2], nb_machine.cpu);
	else
		nb_emit_const(c, nb_machine.arg[2], 0);
	call_out(c, ADDRESS_OF(m->lookup));
}

/* Call the map's operation directly, instead of the helper that would call
 * it. */
static void lookup_direct(struct nb_jit_ctx *c, uint32_t pc)
{
	struct nb_map *m = c->fact[pc].map;
	uint32_t ask = m->percpu ? load_cpu(c) : 0;

	if (nb_emit_lookup_hash(c, m))
		return;
	nb_lower_map_lookup(c, m);
	if (ask)
		else_helper(c, &c->code[pc], ask, 0);
}

static void lower_lookup(struct nb_jit_ctx *c, uint32_t pc)
{
	const struct nb_jit_fact *f = &c->fact[pc];

	switch ((enum nb_jit_lookup)f->lookup) {
	case NB_JIT_LOOKUP_HELPER:
		call_helper(c, &c->code[pc]);
		break;
	case NB_JIT_LOOKUP_CONST:
		nb_emit_const(c, reg_of(0), f->value);
		break;
	case NB_JIT_LOOKUP_ARRAY:
		nb_emit_lookup_array(c, f->map);
		break;
	case NB_JIT_LOOKUP_PERCPU:
	case NB_JIT_LOOKUP_PERCPU_AT:
		lookup_percpu(c, pc);
		break;
	case NB_JIT_LOOKUP_DIRECT:
		lookup_direct(c, pc);
		break;
	}
}

static void lower_call_local(struct nb_jit_ctx *c, uint32_t pc)
{
	nb_emit_push_frame(c, 0);
	nb_emit_call_slot(c, nb_jit_target(c, pc));
	nb_emit_pop_frame(c, 0);
}

static void lower_call(struct nb_jit_ctx *c, uint32_t pc)
{
	const struct nb_code *i = &c->code[pc];

	switch ((enum nb_jit_inline)c->fact[pc].inlined) {
	case NB_JIT_INLINE_NONE:
		if (i->op == NB_OP_CALL_LOCAL)
			lower_call_local(c, pc);
		else
			call_helper(c, i);
		break;
	case NB_JIT_INLINE_CPU:
		cpu(c, i);
		break;
	case NB_JIT_INLINE_RING_SUBMIT:
	case NB_JIT_INLINE_RING_DISCARD:
		nb_emit_ring_finish(c, c->fact[pc].inlined == NB_JIT_INLINE_RING_DISCARD);
		break;
	}
}

/* Offsets of the loop's data, which lie above the callback's frame. Only
 * the loop itself uses them. */
enum {
	LOOP_CALLBACK = 0,
	LOOP_LIMIT = 8,
	LOOP_EACH = 16, /* The loop's struct nb_each begins here. */
	LOOP_DONE = LOOP_EACH + offsetof(struct nb_each, done),
	LOOP_CTX = LOOP_EACH + offsetof(struct nb_each, ctx),
	LOOP_MAP = LOOP_EACH + offsetof(struct nb_each, map),
	LOOP_CURSOR = LOOP_EACH + offsetof(struct nb_each, cursor),
	LOOP_KEY = LOOP_CURSOR + offsetof(struct nb_map_cursor, key),
	LOOP_VALUE = LOOP_CURSOR + offsetof(struct nb_map_cursor, value),
	LOOP_SIZE = (LOOP_EACH + sizeof(struct nb_each) + 15) / 16 * 16
};

/* get_loop loads a field of the loop's data into register r; put_loop
 * stores it. */
static void get_loop(struct nb_jit_ctx *c, unsigned log, unsigned r, size_t off)
{
	nb_emit_get(c, log, reg_of(r), nb_emit_loop(off));
}

static void put_loop(struct nb_jit_ctx *c, unsigned log, unsigned r, size_t off)
{
	nb_emit_put(c, log, reg_of(r), nb_emit_loop(off));
}

/*
 * Call the slot that the program put into r2. If the slot is not constant,
 * compare the stored number with each slot whose address the program takes.
 * All calls are direct.
 */
static void lower_call_back(struct nb_jit_ctx *c, uint32_t pc)
{
	uint32_t done[NB_IMAGE_MAX_FUNCS], other;
	const uint32_t n = c->ncallbacks;

	if (c->fact[pc].flags & NB_JIT_CALLBACK) {
		nb_emit_call_slot(c, (uint32_t)c->fact[pc].value);
		return;
	}
	for (uint32_t i = 0; i < n; i++) {
		other = nb_emit_skip_unless(c, nb_emit_loop(LOOP_CALLBACK), c->callback[i]);
		nb_emit_call_slot(c, c->callback[i]);
		done[i] = nb_emit_skip(c, true);
		nb_emit_land(c, other);
	}
	nb_emit_trap(c);
	for (uint32_t i = 0; i < n; i++)
		nb_emit_land(c, done[i]);
}

/* Emit a check that returns -EINVAL if the flags in r4 are not 0. */
static uint32_t refuse_flags(struct nb_jit_ctx *c)
{
	nb_emit_const(c, reg_of(0), (uint64_t)-EINVAL);
	return nb_emit_skip_if_const(c, NB_ORDER_NE, true, reg_of(4), 0, true);
}

/* Set up the frame and loop data of a callback; r1 to r3 still hold the
 * helper's arguments. */
static void begin_loop(struct nb_jit_ctx *c, uint32_t pc)
{
	nb_emit_push_frame(c, LOOP_SIZE);
	nb_emit_put_const(c, 3, nb_emit_loop(LOOP_DONE), 0);
	put_loop(c, 3, 3, LOOP_CTX);
	if (!(c->fact[pc].flags & NB_JIT_CALLBACK))
		put_loop(c, 3, 2, LOOP_CALLBACK);
}

static void end_loop(struct nb_jit_ctx *c)
{
	get_loop(c, 2, 0, LOOP_DONE);
	nb_emit_pop_frame(c, LOOP_SIZE);
}

static void lower_loop(struct nb_jit_ctx *c, uint32_t pc)
{
	uint32_t bad_flags = refuse_flags(c), too_many, none, over, stop, again;

	nb_emit_const(c, reg_of(0), (uint64_t)-E2BIG);
	too_many = nb_emit_skip_if_const(c, NB_ORDER_GT, false, reg_of(1), NB_LOOP_MAX, true);
	nb_emit_const(c, reg_of(0), 0);
	none = nb_emit_skip_if_const(c, NB_ORDER_EQ, false, reg_of(1), 0, true);
	begin_loop(c, pc);
	put_loop(c, 2, 1, LOOP_LIMIT);
	again = c->pos;
	over = nb_emit_skip_or_take(c, nb_emit_run(c, offsetof(struct nb_run, iterations)));
	nb_emit_get_and_count(c, reg_of(1), nb_emit_loop(LOOP_DONE));
	get_loop(c, 3, 2, LOOP_CTX);
	lower_call_back(c, pc);
	stop = nb_emit_skip_if_const(c, NB_ORDER_NE, true, reg_of(0), 0, false);
	get_loop(c, 2, 0, LOOP_DONE);
	nb_emit_back_if_below(c, nb_emit_loop(LOOP_LIMIT), again);
	nb_emit_land(c, stop);
	nb_emit_land(c, over);
	end_loop(c);
	nb_emit_land(c, bad_flags);
	nb_emit_land(c, too_many);
	nb_emit_land(c, none);
}

static void each(struct nb_jit_ctx *c, uint32_t pc)
{
	uint32_t bad_flags = refuse_flags(c), end, again;

	begin_loop(c, pc);
	put_loop(c, 3, 1, LOOP_MAP);
	nb_emit_const(c, reg_of(0), 0);
	for (size_t i = 0; i < sizeof(struct nb_map_cursor); i += 8)
		put_loop(c, 3, 0, LOOP_CURSOR + i);
	again = c->pos;
	run_as_argument(c);
	nb_emit_address(c, nb_machine.arg[1], nb_emit_loop(LOOP_EACH));
	nb_emit_call_in_loop(c, ADDRESS_OF(nb_each_next));
	end = nb_emit_skip_if_false(c);
	get_loop(c, 3, 1, LOOP_MAP);
	get_loop(c, 3, 2, LOOP_KEY);
	get_loop(c, 3, 3, LOOP_VALUE);
	get_loop(c, 3, 4, LOOP_CTX);
	lower_call_back(c, pc);
	nb_emit_back_if_zero(c, again);
	nb_emit_land(c, end);
	end_loop(c);
	nb_emit_land(c, bad_flags);
}

static void lower_alu(struct nb_jit_ctx *c, uint32_t pc, const struct nb_insn_spec *row)
{
	const struct nb_code *i = &c->code[pc];
	const unsigned dst = reg_of(i->dst);
	bool w = row->width == 64;

	if (row->traits & NB_INSN_DIVIDE)
		nb_emit_divide(c, pc, row);
	else if (row->traits & NB_INSN_SHIFT)
		nb_emit_shift(c, i, row);
	else if (row->traits == NB_INSN_MOVE)
		nb_emit_copy(c, i, row);
	else if (row->traits & NB_INSN_MOVE)
		nb_emit_extend(c, w, dst, reg_of(i->src), (unsigned)row->off);
	else if (row->fn == NB_FN_MUL)
		nb_emit_multiply(c, i, row);
	else if (row->fn == NB_FN_NEG)
		nb_emit_negate(c, w, dst);
	else if (row->operand == NB_OPND_NONE)
		nb_emit_swap(c, dst, row->width, row->fn == NB_FN_LE);
	else
		nb_emit_binary(c, i, row);
}

static void conditional(struct nb_jit_ctx *c, uint32_t pc, const struct nb_insn_spec *row)
{
	const uint8_t flags = c->fact[pc].flags;

	if (flags & NB_JIT_TAKEN)
		nb_emit_jump(c, pc);
	else if (!(flags & NB_JIT_FALLS))
		nb_emit_compare_and_jump(c, pc, row);
}

/* Emit a slot of the standard instruction set. */
static void lower_plain(struct nb_jit_ctx *c, uint32_t pc)
{
	const struct nb_code *i = &c->code[pc];
	const struct nb_insn_spec *row = nb_spec_insn((enum nb_op)i->op);

	switch (row->kind) {
	case NB_KIND_ALU:
		lower_alu(c, pc, row);
		break;
	case NB_KIND_JMP:
		conditional(c, pc, row);
		break;
	case NB_KIND_JA:
		nb_emit_jump(c, pc);
		break;
	case NB_KIND_MAY_GOTO:
		nb_emit_may_goto(c, pc);
		break;
	case NB_KIND_CALL:
		lower_call(c, pc);
		break;
	case NB_KIND_EXIT:
		nb_emit_leave(c);
		break;
	case NB_KIND_LOAD:
		nb_emit_load(c, i, row);
		break;
	case NB_KIND_STORE:
		nb_emit_store(c, i, row);
		break;
	case NB_KIND_ATOMIC:
		nb_emit_atomic(c, i, row);
		break;
	case NB_KIND_LDDW:
	case NB_KIND_LDDW_HI:
		break;
	}
}

/* Fuse "dst = src; dst += k", unless a jump leads between them. */
static bool copy_and_add(struct nb_jit_ctx *c, uint32_t pc)
{
	const struct nb_code *i = &c->code[pc], *next = i + 1;

	return i->op == NB_OP_MOV64_X && pc + 1 < c->n && next->op == NB_OP_ADD64_K &&
	       next->dst == i->dst && !(c->fact[pc + 1].flags & (NB_JIT_TARGET | NB_JIT_DEAD)) &&
	       nb_emit_copy_and_add(c, i, next->imm);
}

uint32_t nb_lower_slot(struct nb_jit_ctx *c, uint32_t pc)
{
	const struct nb_code *i = &c->code[pc];

	if (copy_and_add(c, pc))
		return 2;
	switch (i->op) {
	case NB_CODE_CONST:
	case NB_CODE_FUNC:
		nb_emit_const(c, reg_of(i->dst), (uint64_t)i->imm);
		return 2;
	case NB_CODE_LOOKUP:
		lower_lookup(c, pc);
		return 1;
	case NB_CODE_LOOP:
		lower_loop(c, pc);
		return 1;
	case NB_CODE_EACH:
		each(c, pc);
		return 1;
	}
	lower_plain(c, pc);
	return 1;
}

#endif
