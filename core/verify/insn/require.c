// SPDX-License-Identifier: MIT
/*
 * List what each instruction needs, according to its row in
 * core/defs/isa.h. This file reads no state, so another instruction of a
 * known kind needs no code here.
 */
#include "core/verify/insn/require.h"

#include <assert.h>
#include <stdbool.h>

static void need(struct nb_needs *out, enum nb_need_kind kind, int reg)
{
	assert(out->n < NB_MAX_NEEDS);
	out->at[out->n++] = (struct nb_need){ kind, (int8_t)reg, -1, 0 };
}

static void memory(struct nb_needs *out, enum nb_need_kind kind, int reg,
		   int value, const struct nb_insn *insn)
{
	need(out, kind, reg);
	out->at[out->n - 1].value = (int8_t)value;
	out->at[out->n - 1].size = (uint8_t)(insn->width / 8);
}

static void alu(struct nb_needs *out, const struct nb_insn *insn)
{
	if (insn->operand == NB_OPND_IMM && insn->traits & NB_INSN_SHIFT)
		need(out, NB_NEED_COUNT, insn->dst);
	need(out, NB_NEED_ARITH, insn->dst);
}

static void atomic(struct nb_needs *out, const struct nb_insn *insn)
{
	memory(out, NB_NEED_ATOMIC, insn->dst, insn->src, insn);
	if (insn->writes & NB_REGS_S)
		need(out, NB_NEED_WRITABLE, insn->src);
}

/* Require that registers to be read are initialised, and that r10 is not
 * written. */
static void registers(struct nb_needs *out, const struct nb_insn *insn)
{
	if (insn->reads & NB_REGS_S)
		need(out, NB_NEED_INIT, insn->src);
	if (insn->reads & NB_REGS_D)
		need(out, NB_NEED_INIT, insn->dst);
	if (insn->reads & NB_REGS_R0 && insn->kind != NB_KIND_EXIT)
		need(out, NB_NEED_INIT, 0);
	if (insn->writes & NB_REGS_D)
		need(out, NB_NEED_WRITABLE, insn->dst);
}

void nb_require(struct nb_needs *out, const struct nb_insn *insn)
{
	bool ordered = insn->traits & NB_INSN_ORDERED;

	out->n = 0;
	registers(out, insn);
	switch ((enum nb_kind)insn->kind) {
	case NB_KIND_ALU:
		alu(out, insn);
		break;
	case NB_KIND_LOAD:
		if (ordered)
			memory(out, NB_NEED_ORDERED, insn->src, -1, insn);
		memory(out, NB_NEED_LOAD, insn->src, -1, insn);
		break;
	case NB_KIND_STORE:
		if (ordered)
			memory(out, NB_NEED_ORDERED, insn->dst, -1, insn);
		memory(out, NB_NEED_STORE, insn->dst,
		       insn->operand == NB_OPND_REG ? insn->src : -1, insn);
		break;
	case NB_KIND_ATOMIC:
		atomic(out, insn);
		break;
	case NB_KIND_CALL:
		if (nb_insn_calls_func(insn)) {
			need(out, NB_NEED_CALL, -1);
			break;
		}
		need(out, NB_NEED_HELPER, -1);
		need(out, NB_NEED_ARGS, -1);
		break;
	case NB_KIND_EXIT:
		need(out, NB_NEED_RETURN, 0);
		break;
	case NB_KIND_JMP:
	case NB_KIND_JA:
	case NB_KIND_MAY_GOTO:
	case NB_KIND_LDDW:
	case NB_KIND_LDDW_HI:
		break;
	}
}
