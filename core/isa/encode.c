// SPDX-License-Identifier: MIT
/*
 * Encode decoded instructions as slots: the exact fields come from the row,
 * the others from the instruction. A field that does not fit its bits is
 * rejected, so that decoding the result gives the same instruction.
 */
#include "core/isa/insn.h"

#include <inttypes.h>

static int misfit(size_t pc, const char *field, int64_t have, const char *may,
		  struct nb_err *err)
{
	return nb_fail(err, NB_E_INSN, (uint32_t)pc,
		       "instruction %zu: %s %" PRId64
		       " does not fit its encoding, allowed %s",
		       pc, field, have, may);
}

/* Encode the two register fields. */
static int regs(struct nb_slot *s, const struct nb_insn_spec *row,
		const struct nb_insn *in, size_t pc, struct nb_err *err)
{
	int32_t dst = row->dst, src = row->src;

	if (in->dst >= (dst == NB_FIELD_ANY ? NB_NREGS : 1))
		return misfit(pc, "dst", in->dst,
			      dst == NB_FIELD_ANY ? "0 to 10" : "0", err);
	if (in->src >= (src == NB_FIELD_ANY ? NB_NREGS : 1))
		return misfit(pc, "src", in->src,
			      src == NB_FIELD_ANY ? "0 to 10" : "0", err);
	dst = dst == NB_FIELD_ANY ? in->dst : dst;
	src = src == NB_FIELD_ANY ? in->src : src;
	s->regs = (uint8_t)(src << 4 | dst);
	return 0;
}

static int off(struct nb_slot *s, const struct nb_insn_spec *row,
	       const struct nb_insn *in, size_t pc, struct nb_err *err)
{
	if (row->off != NB_FIELD_ANY && in->off)
		return misfit(pc, "off", in->off, "0", err);
	if (in->off < INT16_MIN || in->off > INT16_MAX)
		return misfit(pc, "off", in->off, "-32768 to 32767", err);
	s->off = (int16_t)(row->off == NB_FIELD_ANY ? in->off : row->off);
	return 0;
}

static int imm(struct nb_slot *s, const struct nb_insn_spec *row,
	       const struct nb_insn *in, size_t pc, struct nb_err *err)
{
	if (row->imm != NB_FIELD_ANY && in->imm)
		return misfit(pc, "imm", in->imm, "0", err);
	if (in->imm < INT32_MIN || in->imm > INT32_MAX)
		return misfit(pc, "imm", in->imm, "32 bits, signed", err);
	s->imm = (int32_t)(row->imm == NB_FIELD_ANY ? in->imm : row->imm);
	return 0;
}

/* Encode the distance of forms that have it in imm instead of off. */
static int far_target(struct nb_slot *s, const struct nb_insn *in, size_t pc,
		      struct nb_err *err)
{
	if (in->imm)
		return misfit(pc, "imm", in->imm, "0", err);
	s->imm = in->off;
	return 0;
}

/* Encode both slots of an LDDW. @left: number of instructions from @in on,
 * including @in. */
static int lddw(struct nb_slot *s, const struct nb_insn *in, size_t left,
		size_t pc, struct nb_err *err)
{
	uint64_t v = (uint64_t)in->imm;

	if (left < 2 || in[1].op != NB_OP_LDDW_HI)
		return nb_fail(
			err, NB_E_INSN, (uint32_t)pc,
			"instruction %zu (lddw): the second of its two slots is missing",
			pc);
	if (in->op == NB_OP_LDDW_FUNC)
		return far_target(s, in, pc, err);
	if (in->off)
		return misfit(pc, "off", in->off, "0", err);
	if (in->op == NB_OP_LDDW_MAP && v >> 32)
		return misfit(pc, "map index", in->imm, "32 bits, unsigned",
			      err);
	s[0].imm = (int32_t)(uint32_t)v;
	s[1].imm = (int32_t)(uint32_t)(v >> 32);
	return 0;
}

static int one(struct nb_slot *s, const struct nb_insn *in, size_t pc,
	       struct nb_err *err)
{
	const struct nb_insn_spec *row = nb_spec_insn((enum nb_op)in->op);
	int rc;

	if (in->op == NB_OP_JA32 || in->op == NB_OP_CALL_LOCAL)
		return far_target(s, in, pc, err);
	rc = off(s, row, in, pc, err);
	return rc ? rc : imm(s, row, in, pc, err);
}

int nb_encode(struct nb_slot *out, const struct nb_insn *in, size_t n,
	      struct nb_err *err)
{
	for (size_t pc = 0; pc < n; pc++) {
		const struct nb_insn *i = &in[pc];
		const struct nb_insn_spec *row;
		size_t at = pc;
		int rc;

		if (i->op >= NB_OP_LDDW_HI)
			return nb_fail(
				err, NB_E_INSN, (uint32_t)pc,
				"instruction %zu: operation %u has no encoding of its own",
				pc, i->op);
		row = nb_spec_insn((enum nb_op)i->op);
		out[pc] = (struct nb_slot){ .opcode = row->opcode };
		rc = regs(&out[pc], row, i, pc, err);
		if (!rc && row->kind == NB_KIND_LDDW) {
			if (++pc < n)
				out[pc] = (struct nb_slot){ 0 };
			rc = lddw(&out[at], i, n - at, at, err);
		} else if (!rc) {
			rc = one(&out[at], i, at, err);
		}
		if (rc)
			return rc;
	}
	return 0;
}
