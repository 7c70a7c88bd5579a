// SPDX-License-Identifier: MIT
/* Loads, stores and atomics on x86-64. The machine's own memory order is
 * strong enough for acquire and release. */
#include "core/bpf/exec/jit/x86_64.h"

#if defined(__x86_64__)

void nb_emit_load(struct nb_jit_ctx *c, const struct nb_code *i, const struct nb_insn_spec *row)
{
	bool sign = row->traits & NB_INSN_SIGNED;
	struct mem m = address(c, i->src, i->off);
	unsigned dst = reg_of(i->dst);

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

/* An immediate has as many bytes as the operand, but no more than four. */
static void store_imm(struct nb_jit_ctx *c, struct mem m, unsigned width, uint32_t imm)
{
	op_rm(c, width == 64, width == 8 ? 0xc6 : 0xc7, 0, m);
	for (unsigned i = 0; i < 32 && i < width; i += 8)
		e1(c, imm >> i & 0xff);
}

void nb_emit_store(struct nb_jit_ctx *c, const struct nb_code *i, const struct nb_insn_spec *row)
{
	struct mem m = address(c, i->dst, i->off);

	if (row->width == 16)
		e1(c, 0x66);
	if (row->operand == NB_OPND_IMM)
		store_imm(c, m, row->width, (uint32_t)i->imm);
	else if (row->width == 8)
		op_rm8(c, 0x88, reg_of(i->src), m);
	else
		op_rm(c, row->width == 64, 0x89, reg_of(i->src), m);
}

struct mem nb_emit_run(const struct nb_jit_ctx *c, size_t off)
{
	return (struct mem){ c->needs.calls_local ? R13 : RSP, (int32_t)off };
}

struct mem nb_emit_loop(size_t off)
{
	return (struct mem){ RBP, (int32_t)off };
}

/* Load a constant with the shortest of four forms. This changes flags. */
void nb_emit_const(struct nb_jit_ctx *c, unsigned to, uint64_t v)
{
	if (v == 0) {
		op_rr(c, false, 0x31, to, to);
	} else if (v <= UINT32_MAX) {
		rex(c, false, 0, to, false);
		e1(c, 0xb8 | (to & 7));
		e4(c, (uint32_t)v);
	} else if (fits32((int64_t)v)) {
		op_rr(c, true, 0xc7, 0, to);
		e4(c, (uint32_t)v);
	} else {
		rex(c, true, 0, to, false);
		e1(c, 0xb8 | (to & 7));
		e8(c, v);
	}
}

void nb_emit_move(struct nb_jit_ctx *c, bool w, unsigned to, unsigned from)
{
	if (!w || to != from)
		x_mov(c, w, to, from);
}

void nb_emit_address(struct nb_jit_ctx *c, unsigned to, struct mem m)
{
	if (m.off)
		x_lea(c, to, m);
	else
		x_mov(c, true, to, m.base);
}

void nb_emit_get(struct nb_jit_ctx *c, unsigned log, unsigned to, struct mem m)
{
	op_rm(c, log == 3, 0x8b, to, m);
}

void nb_emit_put(struct nb_jit_ctx *c, unsigned log, unsigned from, struct mem m)
{
	op_rm(c, log == 3, 0x89, from, m);
}

void nb_emit_put_const(struct nb_jit_ctx *c, unsigned log, struct mem m, uint32_t v)
{
	store_imm(c, m, 8u << log, v);
}

void nb_emit_get_thread(struct nb_jit_ctx *c, int32_t off)
{
	x_load_thread(c, R11, off);
}

void nb_emit_get_and_count(struct nb_jit_ctx *c, unsigned to, struct mem m)
{
	nb_emit_get(c, 2, to, m);
	op_rm(c, false, 0xff, 0, m); /* The instruction INC */
}

void nb_x86_locked(struct nb_jit_ctx *c, bool w, unsigned op, unsigned src, struct mem m)
{
	e1(c, 0xf0);
	op_rm(c, w, op, src, m);
}

/* Emit OR, AND or XOR that returns the old value: a loop around CMPXCHG. */
static void fetch_loop(struct nb_jit_ctx *c, const struct nb_code *i, bool w, unsigned op)
{
	unsigned src = reg_of(i->src);
	struct mem m = { RDI, 0 };
	uint32_t again;

	x_lea(c, RDI, address(c, i->dst, i->off));
	x_mov(c, true, R10, RAX);
	op_rm(c, w, 0x8b, RAX, m);
	again = c->pos;
	x_mov(c, true, R11, RAX);
	x_alu(c, w, op, R11, src == RAX ? R10 : src);
	nb_x86_locked(c, w, 0x0fb1, R11, m);
	x_back_if(c, CC_NE, again);
	/* The old value is in RAX, without an upper half for 32 bits. */
	if (src != RAX) {
		x_mov(c, w, src, RAX);
		x_mov(c, true, RAX, R10);
	}
}

void nb_emit_atomic(struct nb_jit_ctx *c, const struct nb_code *i, const struct nb_insn_spec *row)
{
	struct mem m = address(c, i->dst, i->off);
	unsigned src = reg_of(i->src), op = op_of[row->fn];
	bool w = row->width == 64;

	if (row->fn == NB_FN_XCHG) {
		op_rm(c, w, 0x87, src, m); /* XCHG locks by itself. */
	} else if (row->fn == NB_FN_CMPXCHG) {
		nb_x86_locked(c, w, 0x0fb1, src, m);
		if (!w) /* On success CMPXCHG does not write EAX. */
			x_mov(c, false, RAX, RAX);
	} else if (!(row->traits & NB_INSN_FETCH)) {
		nb_x86_locked(c, w, op << 3 | 1, src, m);
	} else if (op == X_ADD) {
		nb_x86_locked(c, w, 0x0fc1, src, m); /* The instruction XADD */
	} else {
		fetch_loop(c, i, w, op);
	}
}

#endif
