// SPDX-License-Identifier: MIT
/* Branches within a slot, calls and inline helpers on 64-bit Arm. */
#include "core/bpf/exec/jit/arm64.h"

#if defined(__aarch64__)

#include "core/bpf/map/ringbuf.h"

uint32_t nb_emit_skip(struct nb_jit_ctx *c, bool far)
{
	(void)far;
	return a_skip(c, A_B);
}

/* Set the flags by comparing @reg with @v; changes T3. */
static void arm64_compare(struct nb_jit_ctx *c, bool w, unsigned reg, uint32_t v)
{
	if (fits12(v)) {
		a_add_imm(c, w, A_SUBS, ZR, reg, v);
	} else {
		nb_emit_const(c, T3, v);
		a_rrr(c, w, A_SUBS, ZR, reg, T3);
	}
}

uint32_t nb_emit_skip_if_const(struct nb_jit_ctx *c, unsigned order, bool w, unsigned reg,
			       uint32_t v, bool far)
{
	(void)far;
	if (!v && (order == NB_ORDER_EQ || order == NB_ORDER_NE))
		return a_skip(c, (order == NB_ORDER_EQ ? A_CBZ : A_CBNZ) | wide_bit(w) | reg);
	arm64_compare(c, w, reg, v);
	return a_skip(c, A_BCOND | nb_arm_condition[order]);
}

uint32_t nb_emit_skip_unless(struct nb_jit_ctx *c, struct mem m, uint32_t v)
{
	nb_emit_get(c, 2, T0, m);
	nb_emit_const(c, T1, v);
	a_rrr(c, false, A_SUBS, ZR, T0, T1);
	return a_skip(c, A_BCOND | nb_arm_condition[NB_ORDER_NE]);
}

uint32_t nb_emit_skip_if_false(struct nb_jit_ctx *c)
{
	/* A bool of C has 8 significant bits. */
	a_bitfield(c, false, A_UBFM, T0, 0, 0, 7);
	return a_skip(c, A_CBZ | T0);
}

uint32_t nb_emit_skip_or_take(struct nb_jit_ctx *c, struct mem m)
{
	uint32_t none;

	nb_emit_get(c, 2, T0, m);
	none = a_skip(c, A_CBZ | T0);
	a_add_imm(c, false, A_SUB, T0, T0, 1);
	nb_emit_put(c, 2, T0, m);
	return none;
}

void nb_emit_land(struct nb_jit_ctx *c, uint32_t at)
{
	uint32_t pos = c->pos, op = 0;

	if (!c->out || pos > c->room)
		return;
	for (unsigned i = 0; i < 4; i++)
		op |= (uint32_t)c->out[at + i] << 8 * i;
	c->pos = at;
	if (op == A_B)
		a_b(c, op, (int64_t)pos - at);
	else
		a_b19(c, op, (int64_t)pos - at);
	c->pos = pos;
}

void nb_emit_back_if_zero(struct nb_jit_ctx *c, uint32_t at)
{
	a_b19(c, A_CBZ | wide_bit(true) | R0, (int64_t)at - c->pos);
}

void nb_emit_back_if_below(struct nb_jit_ctx *c, struct mem m, uint32_t at)
{
	nb_emit_get(c, 2, T1, m);
	a_rrr(c, false, A_SUBS, ZR, R0, T1);
	a_b19(c, A_BCOND | CC_LO, (int64_t)at - c->pos);
}

void nb_emit_call(struct nb_jit_ctx *c, uint64_t fn)
{
	if (nb_jit_reaches(c, fn, 128 << 20)) { /* BL reaches 128 MiB. */
		a_b(c, A_BL, (int64_t)(fn - ((uintptr_t)c->base + c->pos)));
		return;
	}
	nb_emit_const(c, FN, fn);
	a4(c, A_BLR | FN << 5);
}

void nb_emit_call_in_loop(struct nb_jit_ctx *c, uint64_t fn)
{
	nb_emit_call(c, fn);
}

/*
 * The callee has no prologue of its own, since functions may share code:
 * its return address goes above its frame here. BL and RET stay in pairs,
 * which the processor's prediction of returns requires.
 */
void nb_emit_call_slot(struct nb_jit_ctx *c, uint32_t slot)
{
	a_b(c, A_BL, 8);
	a_b(c, A_B, 12);
	a_mem(c, A_STORE, 3, LR, FRAME, 0);
	a_b(c, A_B, (int64_t)c->off[slot] - c->pos);
}

/* List the registers that a call site saves, an even number of them. */
static unsigned saved_at_call(const struct nb_jit_ctx *c, unsigned list[6])
{
	unsigned n = nb_lower_saved(c, list);

	list[n++] = FRAME;
	if (n % 2)
		list[n++] = ZR;
	return n;
}

void nb_emit_push_frame(struct nb_jit_ctx *c, uint32_t more)
{
	unsigned list[6], n = saved_at_call(c, list);

	for (unsigned i = 0; i < n; i += 2)
		a_push_pair(c, list[i], list[i + 1]);
	move_sp(c, A_SUB, NB_STACK_SIZE + RETURN + more);
	a_add_imm(c, true, A_ADD, FRAME, SP, NB_STACK_SIZE);
}

void nb_emit_pop_frame(struct nb_jit_ctx *c, uint32_t more)
{
	unsigned list[6], n = saved_at_call(c, list);

	move_sp(c, A_ADD, NB_STACK_SIZE + RETURN + more);
	for (; n; n -= 2)
		a_pop_pair(c, list[n - 2], list[n - 1]);
}

/* Emit R0 += @reg * @size; changes T3. */
static void add_scaled(struct nb_jit_ctx *c, unsigned reg, uint64_t size)
{
	if (nb_jit_power_of_two(size)) {
		a_add_shifted(c, R0, R0, reg, (unsigned)__builtin_ctzll(size));
	} else {
		nb_emit_const(c, T3, size);
		a_madd(c, true, R0, reg, T3, R0);
	}
}

void nb_emit_lookup_array(struct nb_jit_ctx *c, const struct nb_map *m)
{
	a_mem(c, A_LOAD, 2, T0, reg_of(2), 0);
	nb_emit_const(c, R0, (uintptr_t)m->base);
	add_scaled(c, T0, m->elem_size);
	arm64_compare(c, false, T0, m->max_entries);
	a_csel(c, R0, R0, ZR, CC_LO);
}

void nb_emit_element(struct nb_jit_ctx *c, uint64_t base, uint64_t cpu_size, uint64_t elem_size)
{
	nb_emit_const(c, R0, base);
	add_scaled(c, T0, cpu_size);
	if (elem_size)
		add_scaled(c, T1, elem_size);
}

bool nb_emit_lookup_hash(struct nb_jit_ctx *c, struct nb_map *m)
{
	(void)c, (void)m;
	return false;
}

/* The flags span several bytes, so they change in a register. */
void nb_emit_ring_finish(struct nb_jit_ctx *c, bool discard)
{
	const uint32_t flip = discard ? NB_RINGBUF_BUSY | NB_RINGBUF_DISCARD : NB_RINGBUF_BUSY;

	a_add_imm(c, true, A_SUB, T1, reg_of(1), NB_RINGBUF_HEADER);
	a_mem(c, A_LOAD, 2, T0, T1, 0);
	nb_emit_const(c, T2, flip);
	a_rrr(c, false, A_EOR, T0, T0, T2);
	a_ordered(c, A_STLR, 2, 0, T0, T1);
	a_mov(c, true, R0, ZR);
}

#endif
