// SPDX-License-Identifier: MIT
// Loads, stores and atomics on 64-bit Arm: with LSE one instruction, else a
// loop of exclusive accesses.
#include "core/exec/jit/arm64_mem.h"

#include "core/exec/jit/arm64_alu.h"

#if defined(__aarch64__)

/* ---- memory ------------------------------------------------------------ */

/* log2 of a row's bytes in memory. */
static unsigned size_log(const struct nb_insn_spec *row)
{
	return (unsigned)__builtin_ctz(row->width / 8u);
}

void nb_arm_access(struct nb_jit_ctx *c, unsigned kind, unsigned log,
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

void nb_arm_store_imm(struct nb_jit_ctx *c, const struct nb_code *i,
		      const struct nb_insn_spec *row)
{
	uint64_t v = (uint64_t)i->imm & ones(row->width);

	if (v)
		a_mov_imm(c, T0, v);
	nb_arm_access(c, A_STORE, size_log(row), v ? T0 : ZR, reg_of[i->dst],
		      i->off);
}

/* Instructions that take no offset: the address in a register. */
static unsigned address(struct nb_jit_ctx *c, unsigned reg, int32_t off)
{
	if (!off)
		return reg_of[reg];
	nb_arm_add_const(c, true, A_ADD, T1, reg_of[reg], off);
	return T1;
}

void nb_arm_load(struct nb_jit_ctx *c, const struct nb_code *i,
		 const struct nb_insn_spec *row)
{
	nb_arm_access(c, row->traits & NB_INSN_SIGNED ? A_LOAD_SIGNED : A_LOAD,
		      size_log(row), reg_of[i->dst], reg_of[i->src], i->off);
}

void nb_arm_store(struct nb_jit_ctx *c, const struct nb_code *i,
		  const struct nb_insn_spec *row)
{
	nb_arm_access(c, A_STORE, size_log(row), reg_of[i->src], reg_of[i->dst],
		      i->off);
}

void nb_arm_load_acquire(struct nb_jit_ctx *c, const struct nb_code *i,
			 const struct nb_insn_spec *row)
{
	a_ordered(c, A_LDAR, size_log(row), 0, reg_of[i->dst],
		  address(c, i->src, i->off));
}

void nb_arm_store_release(struct nb_jit_ctx *c, const struct nb_code *i,
			  const struct nb_insn_spec *row)
{
	a_ordered(c, A_STLR, size_log(row), 0, reg_of[i->src],
		  address(c, i->dst, i->off));
}

/* ---- atomics ----------------------------------------------------------- */

/* One instruction, acquire and release. The old value goes to src or T2. */
static void with_lse(struct nb_jit_ctx *c, const struct nb_code *i,
		     const struct nb_insn_spec *row, unsigned at)
{
	unsigned src = reg_of[i->src], log = size_log(row), by = src;

	if (row->fn == NB_FN_CMPXCHG) {
		a_ordered(c, A_CAS, log, R0, src, at);
		return;
	}
	if (op_of[row->fn].lse == A_LDCLR) { /* clears what is set */
		by = T2;
		a_rrr(c, true, A_ORN, by, ZR, src);
	}
	a_ordered(c, op_of[row->fn].lse, log, by,
		  row->traits & NB_INSN_FETCH ? src : T2, at);
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
		a_rrr(c, w, op_of[row->fn].alu, T3, T2, src);
	a_ordered(c, A_STLXR, log, T0, value, at);
	a_b19(c, A_CBNZ | T0, (int64_t)again - c->pos);
	if (row->fn == NB_FN_CMPXCHG)
		a_land(c, differs);
	a4(c, A_DMB);
	if (row->fn == NB_FN_CMPXCHG)
		a_mov(c, w, R0, T2);
	else if (row->traits & NB_INSN_FETCH)
		a_mov(c, w, src, T2);
}

void nb_arm_atomic(struct nb_jit_ctx *c, const struct nb_code *i,
		   const struct nb_insn_spec *row)
{
	unsigned at = address(c, i->dst, i->off);

	if (c->features & FEATURE_LSE)
		with_lse(c, i, row, at);
	else
		with_loop(c, i, row, at);
}

#endif
