// SPDX-License-Identifier: MIT
// Loads, stores and atomics on x86-64, whose own order is strong enough for
// acquire and release.
#include "core/exec/jit/x86_64_mem.h"

#if defined(__x86_64__)

/* ---- memory ------------------------------------------------------------ */

void nb_x86_load(struct nb_jit_ctx *c, const struct nb_code *i,
		 const struct nb_insn_spec *row)
{
	bool sign = row->traits & NB_INSN_SIGNED;
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

void nb_x86_store(struct nb_jit_ctx *c, const struct nb_code *i,
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

void nb_x86_store_imm(struct nb_jit_ctx *c, const struct nb_code *i,
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

/* ---- atomics ----------------------------------------------------------- */

void nb_x86_locked(struct nb_jit_ctx *c, bool w, unsigned op, unsigned src,
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
	nb_x86_locked(c, w, 0x0fb1, R11, m);
	x_back_if(c, CC_NE, again);
	/* the old value, without an upper half for 32 bits, is in RAX */
	if (src != RAX) {
		x_mov(c, w, src, RAX);
		x_mov(c, true, RAX, R10);
	}
}

void nb_x86_atomic(struct nb_jit_ctx *c, const struct nb_code *i,
		   const struct nb_insn_spec *row)
{
	struct mem m = address(c, i->dst, i->off);
	unsigned src = reg_of[i->src], op = op_of[row->fn];
	bool w = row->width == 64;

	if (row->fn == NB_FN_XCHG) {
		op_rm(c, w, 0x87, src, m); /* locks by itself */
	} else if (row->fn == NB_FN_CMPXCHG) {
		nb_x86_locked(c, w, 0x0fb1, src, m);
		if (!w) /* on success EAX was not written */
			x_mov(c, false, RAX, RAX);
	} else if (!(row->traits & NB_INSN_FETCH)) {
		nb_x86_locked(c, w, op << 3 | 1, src, m);
	} else if (op == X_ADD) {
		nb_x86_locked(c, w, 0x0fc1, src, m); /* XADD */
	} else {
		fetch_loop(c, i, w, op);
	}
}

#endif
