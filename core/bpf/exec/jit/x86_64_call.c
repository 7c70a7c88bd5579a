// SPDX-License-Identifier: MIT
/* Branches within a slot, calls and inline helpers on x86-64. */
#include "core/bpf/exec/jit/x86_64.h"

#if defined(__x86_64__)

#include "core/bpf/map/ops.h"
#include "core/bpf/map/ringbuf.h"

uint32_t nb_emit_skip(struct nb_jit_ctx *c, bool far)
{
	return x_skip_op(c, far ? 0xe9 : 0xeb, far);
}

uint32_t nb_emit_skip_if_const(struct nb_jit_ctx *c, unsigned order, bool w, unsigned reg,
			       uint32_t v, bool far)
{
	if (v)
		x_alu_imm(c, w, X_CMP, reg, (int32_t)v);
	else
		x_test(c, w, reg, reg);
	return x_skip_if(c, nb_x86_condition[order], far);
}

uint32_t nb_emit_skip_unless(struct nb_jit_ctx *c, struct mem m, uint32_t v)
{
	op_rm(c, false, 0x81, X_CMP, m);
	e4(c, v);
	return x_skip_if(c, CC_NE, false);
}

uint32_t nb_emit_skip_if_false(struct nb_jit_ctx *c)
{
	op_regs(c, false, 0x84, RAX, RAX, true); /* The instruction TEST AL, AL */
	return x_skip_if(c, CC_E, true);
}

uint32_t nb_emit_skip_or_take(struct nb_jit_ctx *c, struct mem m)
{
	uint32_t none;

	op_rm(c, false, 0x83, X_CMP, m);
	e1(c, 0);
	none = x_skip_if(c, CC_E, true);
	op_rm(c, false, 0xff, 1, m); /* The instruction DEC */
	return none;
}

void nb_emit_land(struct nb_jit_ctx *c, uint32_t skip)
{
	uint32_t n = skip & FAR_SKIP ? 4 : 1, at = skip & ~FAR_SKIP;

	for (uint32_t i = 0; c->out && c->pos <= c->room && i < n; i++)
		c->out[at - n + i] = (unsigned char)((c->pos - at) >> 8 * i);
}

void nb_emit_back_if_zero(struct nb_jit_ctx *c, uint32_t at)
{
	x_test(c, true, RAX, RAX);
	x_back32_if(c, CC_E, at);
}

void nb_emit_back_if_below(struct nb_jit_ctx *c, struct mem m, uint32_t at)
{
	op_rm(c, false, 0x3b, RAX, m); /* The instruction CMP */
	x_back32_if(c, CC_B, at);
}

void nb_emit_call(struct nb_jit_ctx *c, uint64_t fn)
{
	/* The distance of CALL has 32 bits. */
	if (nb_jit_reaches(c, fn, INT32_MAX)) {
		e1(c, 0xe8);
		e4(c, (uint32_t)(fn - ((uintptr_t)c->base + c->pos + 4)));
		return;
	}
	rex(c, true, 0, RAX, false);
	e1(c, 0xb8 | RAX);
	e8(c, fn);
	e1(c, 0xff);
	e1(c, 0xd0); /* The instruction CALL RAX */
}

void nb_emit_call_in_loop(struct nb_jit_ctx *c, uint64_t fn)
{
	move_rsp(c, X_SUB, 8); /* Align the stack for a function of C. */
	nb_emit_call(c, fn);
	move_rsp(c, X_ADD, 8);
}

/* Offsets of the first pass are wrong, but the call's length is right. */
void nb_emit_call_slot(struct nb_jit_ctx *c, uint32_t slot)
{
	e1(c, 0xe8);
	e4(c, c->off[slot] - (c->pos + 4));
}

/* Return the bytes below the saved registers: RSP is 8 off before the call. */
static int32_t frame_size(const struct nb_jit_ctx *c, uint32_t more)
{
	unsigned list[4];

	return (int32_t)more + 8 + NB_STACK_SIZE + ((nb_lower_saved(c, list) + 1) % 2 ? 8 : 0);
}

void nb_emit_push_frame(struct nb_jit_ctx *c, uint32_t more)
{
	nb_x86_push_saved(c);
	x_push(c, RBP);
	move_rsp(c, X_SUB, frame_size(c, more));
	x_lea(c, RBP, (struct mem){ RSP, 8 + NB_STACK_SIZE });
}

void nb_emit_pop_frame(struct nb_jit_ctx *c, uint32_t more)
{
	move_rsp(c, X_ADD, frame_size(c, more));
	x_pop(c, RBP);
	nb_x86_pop_saved(c);
}

/* Emit reg *= size; changes RDI. */
static void scale(struct nb_jit_ctx *c, unsigned reg, uint64_t size)
{
	if (nb_jit_power_of_two(size)) {
		if (size > 1)
			x_shift_imm(c, true, X_SHL, reg, (unsigned)__builtin_ctzll(size));
	} else if (fits32((int64_t)size)) {
		x_imul_imm(c, true, reg, (int32_t)size);
	} else {
		nb_emit_const(c, RDI, size);
		x_imul(c, true, reg, RDI);
	}
}

void nb_emit_lookup_array(struct nb_jit_ctx *c, const struct nb_map *m)
{
	uint32_t none;

	nb_emit_const(c, RAX, 0);
	nb_emit_get(c, 2, R11, (struct mem){ RDX, 0 });
	none = nb_emit_skip_if_const(c, NB_ORDER_GE, false, R11, m->max_entries, false);
	scale(c, R11, m->elem_size);
	nb_emit_const(c, RAX, (uintptr_t)m->base);
	x_alu(c, true, X_ADD, RAX, R11);
	nb_emit_land(c, none);
}

void nb_emit_element(struct nb_jit_ctx *c, uint64_t base, uint64_t cpu_size, uint64_t elem_size)
{
	scale(c, RAX, cpu_size);
	if (elem_size) {
		scale(c, R11, elem_size);
		x_alu(c, true, X_ADD, RAX, R11);
	}
	nb_emit_const(c, R11, base);
	x_alu(c, true, X_ADD, RAX, R11);
}

/* Emit a jump taken if the bucket at R11 has released an element since it
 * held R10. */
static uint32_t moved_on(struct nb_jit_ctx *c)
{
	op_rm(c, true, 0x8b, R8, (struct mem){ R11, 0 });
	x_alu(c, true, X_XOR, R8, R10);
	x_shift_imm(c, true, X_SHR, R8, NB_HASH_SEQ_BIT);
	return x_skip_if(c, CC_NE, false);
}

/*
 * Emit a look-up along the key's chain, like find_words in core/bpf/map/hash.h.
 * The key is in RAX (read in halves, as there), its bucket at R11, the
 * bucket's word in R10, and elements begin at RCX. If the chain changed
 * meanwhile, the code calls the map's operation, which looks again.
 */
bool nb_emit_lookup_hash(struct nb_jit_ctx *c, struct nb_map *m)
{
	struct nb_hash_places h;
	uint32_t top, none, hit, changed[2], done[2];

	if (!nb_hash_where(m, &h))
		return false;
	op_rm(c, false, 0x8b, RAX, (struct mem){ RDX, 0 });
	if (m->def.key_size == 8) {
		op_rm(c, false, 0x8b, RDI, (struct mem){ RDX, 4 });
		x_shift_imm(c, true, X_SHL, RDI, 32);
		x_alu(c, true, X_OR, RAX, RDI);
	}
	nb_emit_const(c, R11, h.factor);
	x_imul(c, true, R11, RAX);
	x_shift_imm(c, true, X_SHR, R11, h.shift);
	nb_emit_const(c, RDI, h.bucket);
	nb_emit_const(c, RCX, h.elem);
	x_lea8(c, R11, RDI, R11);
	op_rm(c, true, 0x8b, R10, (struct mem){ R11, 0 });
	x_mov(c, false, RSI, R10);
	top = c->pos;
	x_alu_imm(c, false, X_CMP, RSI, -1);
	none = x_skip_if(c, CC_E, false);
	x_lea8(c, RDI, RCX, RSI);
	op_rm(c, true, 0x3b, RAX, (struct mem){ RDI, NB_HASH_KEY });
	hit = x_skip_if(c, CC_E, false);
	op_rm(c, false, 0x8b, RSI, (struct mem){ RDI, 0 });
	changed[0] = moved_on(c);
	e1(c, 0xeb);
	e1(c, (uint8_t)(top - (c->pos + 1)));
	nb_emit_land(c, hit);
	changed[1] = moved_on(c);
	x_lea(c, RAX, (struct mem){ RDI, (int32_t)h.value_off });
	done[0] = nb_emit_skip(c, false);
	nb_emit_land(c, none);
	nb_emit_const(c, RAX, 0);
	done[1] = nb_emit_skip(c, false);
	nb_emit_land(c, changed[0]);
	nb_emit_land(c, changed[1]);
	nb_lower_map_lookup(c, m);
	nb_emit_land(c, done[0]);
	nb_emit_land(c, done[1]);
	return true;
}

void nb_emit_ring_finish(struct nb_jit_ctx *c, bool discard)
{
	const struct mem header = { RSI, -NB_RINGBUF_HEADER };

	if (discard) {
		op_rm(c, false, 0x81, X_XOR, header);
		e4(c, NB_RINGBUF_BUSY | NB_RINGBUF_DISCARD);
	} else {
		op_rm(c, false, 0x81, X_AND, header);
		e4(c, ~NB_RINGBUF_BUSY);
	}
	nb_emit_const(c, RAX, 0);
}

#endif
