// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_INSN_OPERAND_H
#define NB_VERIFY_INSN_OPERAND_H

#include "core/bpf/verify/access/labels.h"
#include "core/bpf/verify/state/env.h"

/* Return the source operand: a register or the immediate. */
static inline struct nb_reg nb_operand(const struct nb_state *st, const struct nb_insn *insn)
{
	if (insn->operand == NB_OPND_REG)
		return st->frames[st->nframes - 1].regs[insn->src];
	return nb_reg_scalar(nb_range_const((uint64_t)insn->imm));
}

/* Are both operands certainly the same number? */
static inline bool nb_same_number(const struct nb_insn *insn, const struct nb_reg *a,
				  const struct nb_reg *b)
{
	return insn->operand == NB_OPND_REG &&
	       (insn->src == insn->dst || (a->id && a->id == b->id && a->delta == b->delta));
}

/* Put @v into register @number. Under local control the value becomes
 * rank-local. */
static inline void nb_step_assign(struct nb_state *st, int number, struct nb_reg v)
{
	if (st->region.open)
		nb_label_taint(&v, st->region.pc);
	nb_top(st)->regs[number] = v;
}

#endif
