// SPDX-License-Identifier: MIT
/*
 * Decode slots into instructions, driven by the rows of core/defs/isa.h: a
 * slot matches the row whose exact fields it carries. A slot that matches
 * no row is rejected with the field, the value found and the values
 * allowed, so that every later stage may trust each field of struct
 * nb_insn.
 */
#include "core/bpf/isa/insn.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum field { DST, SRC, OFF, IMM, NFIELDS };

static const char *const field_name[NFIELDS] = { "dst", "src", "off", "imm" };

/* A list of the table's rows for each opcode: first[opcode] is its first
 * row, next[row] the row after it, and NB_NOPS ends the list. */
struct index {
	uint8_t first[256];
	uint8_t next[NB_NOPS];
};

_Static_assert(NB_NOPS < 256, "a row's number fits a byte of the index");

static void index_build(struct index *ix)
{
	memset(ix->first, NB_NOPS, sizeof(ix->first));
	for (unsigned op = NB_OP_LDDW_HI; op-- > 0;) {
		uint8_t code = nb_spec_insn((enum nb_op)op)->opcode;

		ix->next[op] = ix->first[code];
		ix->first[code] = (uint8_t)op;
	}
}

static int32_t found(const struct nb_slot *s, enum field f)
{
	switch (f) {
	case DST:
		return s->regs & 15;
	case SRC:
		return s->regs >> 4;
	case OFF:
		return s->off;
	case IMM:
	case NFIELDS:
		break;
	}
	return s->imm;
}

static int32_t field_wanted(const struct nb_insn_spec *row, enum field f)
{
	switch (f) {
	case DST:
		return row->dst;
	case SRC:
		return row->src;
	case OFF:
		return row->off;
	case IMM:
	case NFIELDS:
		break;
	}
	return row->imm;
}

static bool field_fits(const struct nb_insn_spec *row, const struct nb_slot *s, enum field f)
{
	int32_t want = field_wanted(row, f), have = found(s, f);

	if (want != NB_FIELD_ANY)
		return have == want;
	return (f != DST && f != SRC) || have < NB_NREGS;
}

/* Return the fields of @s that do not fit @row, as a set of bits. */
static unsigned misfits(const struct nb_insn_spec *row, const struct nb_slot *s)
{
	return (unsigned)!field_fits(row, s, DST) << DST |
	       (unsigned)!field_fits(row, s, SRC) << SRC |
	       (unsigned)!field_fits(row, s, OFF) << OFF |
	       (unsigned)!field_fits(row, s, IMM) << IMM;
}

/* Return the name of a form that exists in Linux, but not here; NULL for
 * others. */
static const char *foreign(const struct nb_slot *s)
{
	unsigned src = s->regs >> 4, mode = s->opcode & 0xe0;

	if ((s->opcode & 7) == 0 && (mode == 0x20 || mode == 0x40))
		return "a packet load";
	if (s->opcode == 0x8d)
		return "a call through a register";
	if (s->opcode == 0xbf && s->off == 1)
		return "an address-space cast";
	if (s->opcode == 0x85 && src == 2)
		return "a call of a kernel function (src 2)";
	if (s->opcode == 0x18 && src == 3)
		return "a load of a kernel variable's address (src 3)";
	if (s->opcode == 0x18 && src == 5)
		return "a load of a map by index (src 5)";
	if (s->opcode == 0x18 && src == 6)
		return "a load of a map value by index (src 6)";
	return NULL;
}

/* Return the row of this opcode that differs from @s in the fewest fields. */
static unsigned nearest(const struct index *ix, const struct nb_slot *s)
{
	unsigned best = ix->first[s->opcode];
	int least = NFIELDS + 1;

	for (unsigned op = best; op < NB_NOPS; op = ix->next[op]) {
		int n = __builtin_popcount(misfits(nb_spec_insn((enum nb_op)op), s));

		if (n < least) {
			least = n;
			best = op;
		}
	}
	return best;
}

struct value {
	char text[16];
};

/* Operations of atomics are sets of bits; other fields are numbers. */
static struct value field_range(const struct nb_insn_spec *row, enum field f, int32_t v)
{
	bool bits = f == IMM && (row->kind == NB_KIND_ATOMIC || row->traits & NB_INSN_ORDERED);
	struct value r;

	if (bits)
		snprintf(r.text, sizeof(r.text), "%#" PRIx32, (uint32_t)v);
	else
		snprintf(r.text, sizeof(r.text), "%" PRId32, v);
	return r;
}

/* List the values that field @f may hold if the other fields stay: "0",
 * "16, 32, 64". */
static void allowed(char *text, size_t size, const struct index *ix, const struct nb_slot *s,
		    enum field f, unsigned misfit)
{
	size_t n = 0;

	text[0] = '\0';
	for (unsigned op = ix->first[s->opcode]; op < NB_NOPS; op = ix->next[op]) {
		const struct nb_insn_spec *row = nb_spec_insn((enum nb_op)op);
		int32_t want = field_wanted(row, f);

		if (misfits(row, s) != misfit || n >= size)
			continue;
		if (want == NB_FIELD_ANY) {
			snprintf(text, size, "r0 to r10");
			return;
		}
		n += (size_t)snprintf(text + n, size - n, "%s%s", n ? ", " : "",
				      field_range(row, f, want).text);
	}
}

static int refuse_field(const struct index *ix, const struct nb_slot *s, size_t pc,
			struct nb_err *err)
{
	const char *what = foreign(s);
	const struct nb_insn_spec *row;
	enum field f = DST;
	char may[160];
	unsigned misfit;

	if (what)
		return nb_fail(err, NB_E_INSN, (uint32_t)pc,
			       "instruction %zu: opcode 0x%02x is %s, which policies may not use",
			       pc, s->opcode, what);
	if (ix->first[s->opcode] == NB_NOPS)
		return nb_fail(err, NB_E_INSN, (uint32_t)pc,
			       "instruction %zu: unknown opcode 0x%02x", pc, s->opcode);
	row = nb_spec_insn((enum nb_op)nearest(ix, s));
	misfit = misfits(row, s);
	while (!(misfit >> f & 1))
		f++;
	allowed(may, sizeof(may), ix, s, f, misfit);
	return nb_fail(err, NB_E_INSN, (uint32_t)pc,
		       "instruction %zu (opcode 0x%02x, %s): field %s holds %s, allowed %s", pc,
		       s->opcode, row->mnemonic, field_name[f],
		       field_range(row, f, found(s, f)).text, may);
}

static int refuse_hi(size_t pc, const char *field, int32_t have, struct nb_err *err)
{
	return nb_fail(err, NB_E_INSN, (uint32_t)pc,
		       "instruction %zu (second slot of lddw): field %s holds %" PRId32
		       ", allowed 0",
		       pc, field, have);
}

/* Check slot @hi, the second slot of an LDDW at @pc: only its immediate may
 * be set, and only in the two forms that use it. */
static int decode_second_slot(struct nb_insn *in, const struct nb_slot *hi, size_t pc,
			      struct nb_err *err)
{
	uint64_t low = (uint32_t)in->imm, high = (uint32_t)hi->imm;

	if (hi->opcode)
		return refuse_hi(pc, "opcode", hi->opcode, err);
	if (hi->regs)
		return refuse_hi(pc, hi->regs & 15 ? "dst" : "src",
				 hi->regs & 15 ? hi->regs & 15 : hi->regs >> 4, err);
	if (hi->off)
		return refuse_hi(pc, "off", hi->off, err);
	if (in->fn != NB_FN_IMM && in->fn != NB_FN_MAP_VALUE && hi->imm)
		return refuse_hi(pc, "imm", hi->imm, err);
	in->imm = in->traits & NB_INSN_FAR ? 0 : (int64_t)(high << 32 | low);
	in[1] = (struct nb_insn){ .op = NB_OP_LDDW_HI, .kind = NB_KIND_LDDW_HI, .width = 64 };
	return 0;
}

/* Fill in the decoded form of @s, which row @op matches. */
static void fill(struct nb_insn *in, unsigned op, const struct nb_slot *s)
{
	const struct nb_insn_spec *row = nb_spec_insn((enum nb_op)op);

	*in = (struct nb_insn){ .op = (uint16_t)op,
				.kind = (uint8_t)row->kind,
				.fn = (uint8_t)row->fn,
				.width = row->width,
				.operand = (uint8_t)row->operand,
				.reads = row->reads,
				.writes = row->writes,
				.traits = row->traits };
	if (row->dst == NB_FIELD_ANY)
		in->dst = s->regs & 15;
	if (row->src == NB_FIELD_ANY)
		in->src = s->regs >> 4;
	if (row->off == NB_FIELD_ANY)
		in->off = s->off;
	if (row->imm == NB_FIELD_ANY)
		in->imm = s->imm;
	/*
	 * The next instruction form has the distance in imm; struct nb_insn has
	 * it in off.
	 */
	if (row->traits & NB_INSN_FAR) {
		in->off = s->imm;
		in->imm = 0;
	}
}

int nb_decode(struct nb_insn *out, const struct nb_slot *slots, size_t nslots, struct nb_err *err)
{
	struct index ix;

	index_build(&ix);
	for (size_t pc = 0; pc < nslots; pc++) {
		const struct nb_slot *s = &slots[pc];
		unsigned op = ix.first[s->opcode];
		int rc;

		while (op < NB_NOPS && misfits(nb_spec_insn((enum nb_op)op), s))
			op = ix.next[op];
		if (op >= NB_NOPS)
			return refuse_field(&ix, s, pc, err);
		fill(&out[pc], op, s);
		if (out[pc].kind != NB_KIND_LDDW)
			continue;
		if (++pc == nslots)
			return nb_fail(
				err, NB_E_INSN, (uint32_t)(pc - 1),
				"instruction %zu (lddw): the second of its two slots is missing",
				pc - 1);
		rc = decode_second_slot(&out[pc - 1], &slots[pc], pc, err);
		if (rc)
			return rc;
	}
	return 0;
}
