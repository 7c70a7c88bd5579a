// SPDX-License-Identifier: MIT
#ifndef NB_TEST_UNIT_ASM_H
#define NB_TEST_UNIT_ASM_H

#include <stdbool.h>
#include <stdint.h>

#include "core/bpf/isa/insn.h"

/*
 * nb_asm - assemble text (the syntax of bpf_conformance's data files:
 * mnemonics of core/defs/isa.h, %r0..%r10, [%r1+4], labels, +N targets, #
 * comments, one instruction a line) to slots
 * @out: up to @max slots; *@n gets the count
 *
 * 0, NB_E_FORMAT (err->at is the line, from 1) or NB_E_LIMIT.
 */
int nb_asm(struct nb_slot *out, size_t max, size_t *n, const char *text, struct nb_err *err);

/* Make the slots again from which @in was decoded: two of an LDDW, else one. */
static inline void slots_again(struct nb_slot *out, const struct nb_insn *in)
{
	const struct nb_insn_spec *row = nb_spec_insn((enum nb_op)in->op);
	bool lddw = row->kind == NB_KIND_LDDW, any = row->imm == NB_FIELD_ANY;
	/* These have a distance in imm. */
	bool far = in->op == NB_OP_JA32 || in->op == NB_OP_CALL_LOCAL || in->op == NB_OP_LDDW_FUNC;
	unsigned dst = row->dst == NB_FIELD_ANY ? in->dst : (unsigned)row->dst;
	unsigned src = row->src == NB_FIELD_ANY ? in->src : (unsigned)row->src;

	out[0] = (struct nb_slot){ .opcode = row->opcode, .regs = (uint8_t)(src << 4 | dst) };
	if (!far && !lddw)
		out[0].off = (int16_t)(row->off == NB_FIELD_ANY ? in->off : row->off);
	out[0].imm = far ? in->off : lddw || any ? (int32_t)(uint32_t)in->imm : row->imm;
	if (lddw)
		out[1] = (struct nb_slot){ .imm = (int32_t)(uint32_t)((uint64_t)in->imm >> 32) };
}

#endif
