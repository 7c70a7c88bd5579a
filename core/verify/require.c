// SPDX-License-Identifier: MIT
// What each instruction needs, taken from its row in core/tbl/isa.h: no state
// is looked at here, so one more instruction of a known kind needs no line.
#include "core/verify/require.h"

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

static bool is_shift(const struct nb_insn *insn)
{
	return insn->fn == NB_FN_LSH || insn->fn == NB_FN_RSH ||
	       insn->fn == NB_FN_ARSH;
}

static bool is_division(const struct nb_insn *insn)
{
	return insn->fn == NB_FN_DIV || insn->fn == NB_FN_MOD ||
	       insn->fn == NB_FN_SDIV || insn->fn == NB_FN_SMOD;
}

static bool is_move(const struct nb_insn *insn)
{
	return insn->fn == NB_FN_MOV || insn->fn == NB_FN_MOVSX8 ||
	       insn->fn == NB_FN_MOVSX16 || insn->fn == NB_FN_MOVSX32;
}

static void alu(struct nb_needs *out, const struct nb_insn *insn)
{
	if (insn->operand == NB_OPND_REG)
		need(out, NB_NEED_INIT, insn->src);
	if (!is_move(insn))
		need(out, NB_NEED_INIT, insn->dst);
	need(out, NB_NEED_WRITABLE, insn->dst);
	if (insn->operand == NB_OPND_IMM && is_shift(insn))
		need(out, NB_NEED_COUNT, insn->dst);
	if (insn->operand == NB_OPND_IMM && is_division(insn))
		need(out, NB_NEED_DIVISOR, insn->dst);
	need(out, NB_NEED_ARITH, insn->dst);
}

static void atomic(struct nb_needs *out, const struct nb_insn *insn)
{
	need(out, NB_NEED_INIT, insn->src);
	need(out, NB_NEED_INIT, insn->dst);
	if (insn->fn == NB_FN_CMPXCHG) {
		need(out, NB_NEED_INIT, 0);
		need(out, NB_NEED_NUMBER, 0);
	}
	memory(out, NB_NEED_ATOMIC, insn->dst, insn->src, insn);
	if (insn->fn != NB_FN_ADD && insn->fn != NB_FN_OR &&
	    insn->fn != NB_FN_AND && insn->fn != NB_FN_XOR &&
	    insn->fn != NB_FN_CMPXCHG)
		need(out, NB_NEED_WRITABLE, insn->src);
}

void nb_require(struct nb_needs *out, const struct nb_insn *insn)
{
	out->n = 0;
	switch ((enum nb_kind)insn->kind) {
	case NB_KIND_ALU:
		alu(out, insn);
		break;
	case NB_KIND_JMP:
		need(out, NB_NEED_INIT, insn->dst);
		if (insn->operand == NB_OPND_REG)
			need(out, NB_NEED_INIT, insn->src);
		break;
	case NB_KIND_LDX:
	case NB_KIND_LDXS:
		need(out, NB_NEED_INIT, insn->src);
		need(out, NB_NEED_WRITABLE, insn->dst);
		memory(out, NB_NEED_LOAD, insn->src, -1, insn);
		break;
	case NB_KIND_LOAD_ACQ:
		need(out, NB_NEED_INIT, insn->src);
		need(out, NB_NEED_WRITABLE, insn->dst);
		memory(out, NB_NEED_ORDERED, insn->src, -1, insn);
		memory(out, NB_NEED_LOAD, insn->src, -1, insn);
		break;
	case NB_KIND_ST:
		need(out, NB_NEED_INIT, insn->dst);
		memory(out, NB_NEED_STORE, insn->dst, -1, insn);
		break;
	case NB_KIND_STX:
		need(out, NB_NEED_INIT, insn->dst);
		need(out, NB_NEED_INIT, insn->src);
		memory(out, NB_NEED_STORE, insn->dst, insn->src, insn);
		break;
	case NB_KIND_STORE_REL:
		need(out, NB_NEED_INIT, insn->dst);
		need(out, NB_NEED_INIT, insn->src);
		memory(out, NB_NEED_ORDERED, insn->dst, -1, insn);
		memory(out, NB_NEED_STORE, insn->dst, insn->src, insn);
		break;
	case NB_KIND_ATOMIC:
		atomic(out, insn);
		break;
	case NB_KIND_CALL:
		if (insn->fn == NB_FN_LOCAL) {
			need(out, NB_NEED_CALL, -1);
			break;
		}
		need(out, NB_NEED_HELPER, -1);
		need(out, NB_NEED_ARGS, -1);
		break;
	case NB_KIND_EXIT:
		need(out, NB_NEED_RETURN, 0);
		break;
	case NB_KIND_LDDW:
		need(out, NB_NEED_WRITABLE, insn->dst);
		break;
	case NB_KIND_JA:
	case NB_KIND_MAY_GOTO:
	case NB_KIND_LDDW_HI:
		break;
	}
}
