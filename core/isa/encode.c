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

/* A field of the encoding: its exact value, if the row has one, or what the
 * instruction holds. */
struct field {
	const char *name;
	int32_t exact;
	int64_t have, least, most;
	const char *may;
};

static int fit(const struct field *f, int64_t *out, size_t pc,
	       struct nb_err *err)
{
	if (f->exact != NB_FIELD_ANY && f->have)
		return misfit(pc, f->name, f->have, "0", err);
	if (f->have < f->least || f->have > f->most)
		return misfit(pc, f->name, f->have, f->may, err);
	*out = f->exact == NB_FIELD_ANY ? f->have : f->exact;
	return 0;
}

/* Encode the two register fields and, with @rest, the others. */
static int fields(struct nb_slot *s, const struct nb_insn_spec *row,
		  const struct nb_insn *in, bool rest, size_t pc,
		  struct nb_err *err)
{
	const struct field all[] = {
		{ "dst", row->dst, in->dst, 0, NB_R10, "0 to 10" },
		{ "src", row->src, in->src, 0, NB_R10, "0 to 10" },
		{ "off", row->off, in->off, INT16_MIN, INT16_MAX,
		  "-32768 to 32767" },
		{ "imm", row->imm, in->imm, INT32_MIN, INT32_MAX,
		  "32 bits, signed" },
	};
	int64_t v[4] = { 0 };
	int rc = 0;

	for (unsigned i = 0; !rc && i < (rest ? 4 : 2); i++)
		rc = fit(&all[i], &v[i], pc, err);
	s->regs = (uint8_t)(v[1] << 4 | v[0]);
	s->off = (int16_t)v[2];
	s->imm = (int32_t)v[3];
	return rc;
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

int nb_encode(struct nb_slot *out, const struct nb_insn *in, size_t n,
	      struct nb_err *err)
{
	for (size_t pc = 0; pc < n; pc++) {
		const struct nb_insn *i = &in[pc];
		const struct nb_insn_spec *row;
		size_t at = pc;
		bool far;
		int rc;

		if (i->op >= NB_OP_LDDW_HI)
			return nb_fail(
				err, NB_E_INSN, (uint32_t)pc,
				"instruction %zu: operation %u has no encoding of its own",
				pc, i->op);
		row = nb_spec_insn((enum nb_op)i->op);
		out[pc] = (struct nb_slot){ .opcode = row->opcode };
		far = i->op == NB_OP_JA32 || i->op == NB_OP_CALL_LOCAL;
		rc = fields(&out[pc], row, i, !far && row->kind != NB_KIND_LDDW,
			    pc, err);
		if (!rc && row->kind == NB_KIND_LDDW) {
			if (++pc < n)
				out[pc] = (struct nb_slot){ 0 };
			rc = lddw(&out[at], i, n - at, at, err);
		} else if (!rc && far) {
			rc = far_target(&out[at], i, at, err);
		}
		if (rc)
			return rc;
	}
	return 0;
}
