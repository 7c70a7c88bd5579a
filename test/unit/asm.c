// SPDX-License-Identifier: MIT
// Assembler for the text of bpf_conformance's data files. A line's mnemonic
// and the shape of its operands choose a row of core/defs/isa.h; the row's kind
// says where each operand goes. Labels are collected in a first pass. It takes
// no memory but its frame.
#include "test/unit/asm.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_LABELS = 192, MAX_OPNDS = 3, MAX_LINE = 256, OP_CALLX = 0x8d };

/* Text that is a part of a line; not terminated. */
struct span {
	const char *p;
	size_t n;
};

struct label {
	struct span name;
	size_t slot;
};

enum opnd_kind { OPND_REG, OPND_MEM, OPND_WORD };

struct opnd {
	enum opnd_kind kind;
	uint8_t reg;
	int16_t off;
	struct span text;
};

struct asm_state {
	struct nb_slot *out;
	size_t max, n;
	struct label labels[MAX_LABELS];
	size_t nlabels;
	size_t last_exit; /* slots before the last exit of the text */
	bool has_exit;
	uint32_t line;
	struct nb_err *err;
};

#define FAIL(a, ...) nb_fail((a)->err, NB_E_FORMAT, (a)->line, __VA_ARGS__)
#define ARGS(s) (int)(s).n, (s).p

static struct span trim(struct span s)
{
	while (s.n && isspace((unsigned char)*s.p)) {
		s.p++;
		s.n--;
	}
	while (s.n && isspace((unsigned char)s.p[s.n - 1]))
		s.n--;
	return s;
}

static bool is(struct span s, const char *word)
{
	return s.n == strlen(word) && !memcmp(s.p, word, s.n);
}

/* Take the next line off @text, without its comment and outer blanks. */
static bool next_line(const char **text, struct span *line)
{
	const char *hash;
	size_t n = strcspn(*text, "\n");

	if (!**text)
		return false;
	*line = (struct span){ *text, n };
	*text += n + ((*text)[n] == '\n');
	hash = memchr(line->p, '#', line->n);
	if (hash)
		line->n = (size_t)(hash - line->p);
	*line = trim(*line);
	return true;
}

static struct span first_word(struct span s)
{
	size_t n = 0;

	while (n < s.n && !isspace((unsigned char)s.p[n]))
		n++;
	return (struct span){ s.p, n };
}

/*
 * A number: decimal, or hexadecimal with 0x. Hexadecimal may use all @bits,
 * decimal those and the sign: what fits neither reading is false.
 */
static bool number(struct span s, unsigned bits, int64_t *out)
{
	bool neg = s.n && *s.p == '-', hex;
	char buf[32], *end;
	uint64_t v, top = (uint64_t)1 << (bits - 1);

	if (s.n && (*s.p == '-' || *s.p == '+')) {
		s.p++;
		s.n--;
		s = trim(s);
	}
	if (!s.n || s.n >= sizeof(buf) || !isdigit((unsigned char)*s.p))
		return false;
	memcpy(buf, s.p, s.n);
	buf[s.n] = '\0';
	hex = s.n > 1 && (buf[1] == 'x' || buf[1] == 'X');
	errno = 0;
	v = strtoull(buf, &end, hex ? 16 : 10);
	if (*end || errno)
		return false;
	if (neg && v > top)
		return false;
	if (!neg && v >= top && !(bits == 64) && (!hex || v >> bits))
		return false;
	v = neg ? -v : v;
	*out = bits == 64 ? (int64_t)v : (int64_t)(v << (64 - bits)) >> (64 - bits);
	return true;
}

static int reg(struct asm_state *a, struct span s, uint8_t *out)
{
	int64_t n;

	if (s.n < 3 || s.p[0] != '%' || s.p[1] != 'r' ||
	    !number((struct span){ s.p + 2, s.n - 2 }, 32, &n) || n < 0 || n >= NB_NREGS ||
	    !isdigit((unsigned char)s.p[2]))
		return FAIL(a,
			    "line %u: invalid register %.*s, allowed %%r0 to "
			    "%%r10",
			    a->line, ARGS(s));
	*out = (uint8_t)n;
	return 0;
}

/* "[%r1]", "[%r1+4]" */
static int mem(struct asm_state *a, struct opnd *o)
{
	struct span in = { o->text.p + 1, o->text.n - 1 }, base;
	int64_t off = 0;

	if (!in.n || in.p[in.n - 1] != ']')
		return FAIL(a, "line %u: invalid address %.*s, no ]", a->line, ARGS(o->text));
	in.n--;
	in = trim(in);
	base = in;
	for (base.n = 0; base.n < in.n; base.n++)
		if (base.p[base.n] == '+' || base.p[base.n] == '-')
			break;
	if (base.n < in.n && (!number((struct span){ in.p + base.n, in.n - base.n }, 32, &off) ||
			      off < INT16_MIN || off > INT16_MAX))
		return FAIL(a,
			    "line %u: invalid offset in %.*s, allowed -32768 "
			    "to 32767",
			    a->line, ARGS(o->text));
	o->off = (int16_t)off;
	return reg(a, trim(base), &o->reg);
}

/* Split @rest at its commas. */
static int operands(struct asm_state *a, struct span rest, struct opnd o[MAX_OPNDS], size_t *n)
{
	int rc = 0;

	for (*n = 0; rest.n && !rc;) {
		const char *comma = memchr(rest.p, ',', rest.n);
		size_t len = comma ? (size_t)(comma - rest.p) : rest.n;
		struct span s = trim((struct span){ rest.p, len });

		if (*n == MAX_OPNDS || !s.n || (comma && len + 1 == rest.n))
			return FAIL(a, "line %u: operands \"%.*s\": %s", a->line, ARGS(rest),
				    *n == MAX_OPNDS ? "allowed are at most 3" : "one is empty");
		o[*n] = (struct opnd){ .kind = OPND_WORD, .text = s };
		if (*s.p == '%') {
			o[*n].kind = OPND_REG;
			rc = reg(a, s, &o[*n].reg);
		} else if (*s.p == '[') {
			o[*n].kind = OPND_MEM;
			rc = mem(a, &o[*n]);
		}
		++*n;
		rest.p += len + (comma != NULL);
		rest.n -= len + (comma != NULL);
	}
	return rc;
}

/*
 * A jump's target as a distance from slot @from: "+3", "-2", or a label. The
 * label "exit" need not be there: it is the last exit instruction.
 */
static int target(struct asm_state *a, struct span s, size_t from, int64_t *out)
{
	if (*s.p == '+' || *s.p == '-' || isdigit((unsigned char)*s.p)) {
		if (number(s, 32, out))
			return 0;
		return FAIL(a, "line %u: invalid jump distance %.*s", a->line, ARGS(s));
	}
	for (size_t i = 0; i < a->nlabels; i++)
		if (a->labels[i].name.n == s.n && !memcmp(a->labels[i].name.p, s.p, s.n)) {
			*out = (int64_t)a->labels[i].slot - (int64_t)from;
			return 0;
		}
	if (is(s, "exit") && a->has_exit) {
		*out = (int64_t)a->last_exit - (int64_t)from;
		return 0;
	}
	return FAIL(a, "line %u: unknown label %.*s", a->line, ARGS(s));
}

/*
 * What a row's operands look like: r and s registers for dst and src, m and
 * n memory by dst and src, i a 32-bit and q a 64-bit immediate, j the second
 * half of an lddw, o a target in off, t a target in imm.
 */
static const char *shape(const struct nb_insn_spec *row)
{
	bool k = row->operand == NB_OPND_IMM;

	switch (row->kind) {
	case NB_KIND_ALU:
		return row->operand == NB_OPND_NONE ? "r" : k ? "ri" : "rs";
	case NB_KIND_JMP:
		return k ? "rio" : "rso";
	case NB_KIND_JA:
		return row->width == 32 ? "t" : "o";
	case NB_KIND_MAY_GOTO:
		return "o";
	case NB_KIND_CALL:
		return row->fn == NB_FN_HELPER ? "i" : "t";
	case NB_KIND_EXIT:
	case NB_KIND_LDDW_HI:
		return "";
	case NB_KIND_LOAD:
		return "rn";
	case NB_KIND_STORE:
	case NB_KIND_ATOMIC:
		return k ? "mi" : "ms";
	case NB_KIND_LDDW:
		break;
	}
	return row->fn == NB_FN_IMM	    ? "rq"
	       : row->fn == NB_FN_MAP_VALUE ? "rij"
	       : row->fn == NB_FN_FUNC	    ? "rt"
					    : "ri";
}

static bool shaped(const char *want, const struct opnd *o, size_t n)
{
	if (strlen(want) != n)
		return false;
	for (size_t i = 0; i < n; i++) {
		enum opnd_kind k = strchr("rs", want[i])   ? OPND_REG
				   : strchr("mn", want[i]) ? OPND_MEM
							   : OPND_WORD;

		if (o[i].kind != k)
			return false;
	}
	return true;
}

static int immediate(struct asm_state *a, struct span s, unsigned bits, int64_t *out)
{
	if (number(s, bits, out))
		return 0;
	return FAIL(a, "line %u: invalid immediate %.*s, allowed %u bits", a->line, ARGS(s), bits);
}

/* Put operand @o where @how says. */
static int place(struct asm_state *a, struct nb_slot *s, const struct opnd *o, char how)
{
	int64_t v = 0;
	int rc = 0;

	switch (how) {
	case 'r':
	case 'm':
		s->regs |= o->reg;
		s->off = how == 'm' ? o->off : s->off;
		return 0;
	case 's':
	case 'n':
		s->regs |= (uint8_t)(o->reg << 4);
		s->off = how == 'n' ? o->off : s->off;
		return 0;
	case 'o':
	case 't':
		rc = target(a, o->text, a->n + 1, &v);
		if (!rc && how == 'o' && (v < INT16_MIN || v > INT16_MAX))
			return FAIL(a,
				    "line %u: jump over %" PRId64 " slots, allowed -32768 to 32767",
				    a->line, v);
		if (how == 'o')
			s->off = (int16_t)v;
		else
			s->imm = (int32_t)v;
		return rc;
	case 'i':
	case 'j':
		rc = immediate(a, o->text, 32, &v);
		s[how == 'j'].imm = (int32_t)v;
		return rc;
	}
	rc = immediate(a, o->text, 64, &v);
	s[0].imm = (int32_t)(uint32_t)v;
	s[1].imm = (int32_t)(uint32_t)((uint64_t)v >> 32);
	return rc;
}

/* Does the line begin with the words of @mnemonic? Then what follows them. */
static bool begins(struct span line, const char *mnemonic, struct span *rest)
{
	while (*mnemonic) {
		size_t n = strcspn(mnemonic, " ");
		struct span w = first_word(line);

		if (w.n != n || memcmp(w.p, mnemonic, n) != 0)
			return false;
		line = trim((struct span){ line.p + n, line.n - n });
		mnemonic += n + (mnemonic[n] == ' ');
	}
	*rest = line;
	return true;
}

static const struct {
	const char *alias, *mnemonic;
} aliases[] = { { "swap16", "bswap16" }, { "swap32", "bswap32" }, { "swap64", "bswap64" } };

/* The row whose mnemonic the line begins with, the longest one of them. */
static const struct nb_insn_spec *lookup(struct span line, struct span *rest)
{
	const struct nb_insn_spec *best = NULL;
	struct span after, word = first_word(line);
	size_t i;

	for (i = 0; i < sizeof(aliases) / sizeof(aliases[0]); i++)
		if (is(word, aliases[i].alias)) {
			*rest = trim((struct span){ line.p + word.n, line.n - word.n });
			line = (struct span){ aliases[i].mnemonic, strlen(aliases[i].mnemonic) };
			break;
		}
	for (unsigned op = 0; op < NB_OP_LDDW_HI; op++) {
		const struct nb_insn_spec *row = nb_spec_insn((enum nb_op)op);

		if (begins(line, row->mnemonic, &after) &&
		    (!best || strlen(row->mnemonic) > strlen(best->mnemonic))) {
			best = row;
			if (i == sizeof(aliases) / sizeof(aliases[0]))
				*rest = after;
		}
	}
	return best;
}

/* No row begins like this line: say what is wrong with its first word. */
static int unknown(struct asm_state *a, struct span line)
{
	const char *list[NB_NOPS], *near[2];
	struct span w = first_word(line);
	char word[32] = "";
	int rc;

	for (unsigned op = 0; op < NB_OP_LDDW_HI; op++) {
		const char *m = nb_spec_insn((enum nb_op)op)->mnemonic;
		struct span row = { m, strcspn(m, " ") };

		list[op] = m;
		if (w.n == row.n && !memcmp(w.p, m, w.n))
			return FAIL(a,
				    "line %u: invalid number of operands for "
				    "%.*s, or an operation it does not know: "
				    "%.*s",
				    a->line, ARGS(w), ARGS(line));
	}
	rc = FAIL(a, "line %u: invalid mnemonic %.*s", a->line, ARGS(w));
	if (w.n < sizeof(word)) {
		memcpy(word, w.p, w.n);
		nb_spec_nearest(word, list, NB_OP_LDDW_HI, near);
		if (near[0])
			nb_hint(a->err, "did you mean %s?", near[0]);
	}
	return rc;
}

/* The operands fit none of the rows called @row->mnemonic. */
static int misshaped(struct asm_state *a, const struct nb_insn_spec *row, const struct opnd *o,
		     size_t n)
{
	struct span word = first_word((struct span){ row->mnemonic, strlen(row->mnemonic) });

	if (strlen(shape(row)) != n)
		return FAIL(a,
			    "line %u: invalid number of operands for %.*s: "
			    "found %zu, allowed %zu",
			    a->line, ARGS(word), n, strlen(shape(row)));
	return FAIL(a,
		    "line %u: invalid operand for %s, %.*s among them: allowed "
		    "are registers as %%r1, addresses as [%%r1+4], numbers",
		    a->line, row->mnemonic, ARGS(o[0].text));
}

/* Emit one instruction: @row's exact fields and the operands. */
static int emit(struct asm_state *a, const struct nb_insn_spec *row, const struct opnd *o, size_t n)
{
	size_t nslots = row->kind == NB_KIND_LDDW ? 2 : 1;
	struct nb_slot *s = a->out + a->n;
	int rc = 0;

	if (a->max - a->n < nslots)
		return nb_fail(a->err, NB_E_LIMIT, a->line, "line %u: more than %zu slots", a->line,
			       a->max);
	memset(s, 0, nslots * sizeof(*s));
	s->opcode = row->opcode;
	s->off = row->off == NB_FIELD_ANY ? 0 : (int16_t)row->off;
	s->imm = row->imm == NB_FIELD_ANY ? 0 : row->imm;
	if (row->src != NB_FIELD_ANY)
		s->regs = (uint8_t)(row->src << 4);
	for (size_t i = 0; i < n && !rc; i++)
		rc = place(a, s, &o[i], shape(row)[i]);
	a->n += nslots;
	return rc;
}

static int instruction(struct asm_state *a, struct span line)
{
	struct opnd o[MAX_OPNDS];
	struct span rest = { "", 0 };
	const struct nb_insn_spec *row = lookup(line, &rest);
	size_t n = 0;
	int rc;

	if (!row)
		return unknown(a, line);
	rc = operands(a, rest, o, &n);
	if (rc)
		return rc;
	for (unsigned op = 0; op < NB_OP_LDDW_HI; op++) {
		const struct nb_insn_spec *r = nb_spec_insn((enum nb_op)op);

		if (!strcmp(r->mnemonic, row->mnemonic) && shaped(shape(r), o, n))
			return emit(a, r, o, n);
	}
	if (row->kind == NB_KIND_CALL && n == 1 && o[0].kind == OPND_REG) {
		/* no row has it: it exists only to be refused by decoding */
		struct nb_insn_spec callx = *row;

		callx.opcode = OP_CALLX;
		rc = emit(a, &callx, NULL, 0);
		if (!rc)
			a->out[a->n - 1].regs = o[0].reg;
		return rc;
	}
	return misshaped(a, row, o, n);
}

/* "name:" */
static bool is_label(struct span line)
{
	return line.n > 1 && line.p[line.n - 1] == ':';
}

static int add_label(struct asm_state *a, struct span line, size_t slot)
{
	struct span name = { line.p, line.n - 1 };

	for (size_t i = 0; i < a->nlabels; i++)
		if (a->labels[i].name.n == name.n && !memcmp(a->labels[i].name.p, name.p, name.n))
			return FAIL(a, "line %u: label %.*s stands twice", a->line, ARGS(name));
	if (a->nlabels == MAX_LABELS)
		return nb_fail(a->err, NB_E_LIMIT, a->line, "line %u: more than %d labels", a->line,
			       MAX_LABELS);
	a->labels[a->nlabels++] = (struct label){ name, slot };
	return 0;
}

/* First pass: where each label and the last exit stand. */
static int scan(struct asm_state *a, const char *text)
{
	struct span line, word;
	size_t slot = 0;
	int rc = 0;

	for (a->line = 1; !rc && next_line(&text, &line); a->line++) {
		word = first_word(line);
		if (!line.n)
			continue;
		if (line.n > MAX_LINE)
			return FAIL(a, "line %u: %zu characters, allowed %d", a->line, line.n,
				    MAX_LINE);
		if (is_label(line)) {
			rc = add_label(a, line, slot);
			continue;
		}
		if (is(word, "exit")) {
			a->last_exit = slot;
			a->has_exit = true;
		}
		slot += is(word, "lddw") ? 2 : 1;
	}
	return rc;
}

int nb_asm(struct nb_slot *out, size_t max, size_t *n, const char *text, struct nb_err *err)
{
	struct asm_state a = { .out = out, .max = max, .err = err };
	struct span line;
	int rc;

	*n = 0;
	rc = scan(&a, text);
	for (a.line = 1; !rc && next_line(&text, &line); a.line++)
		if (line.n && !is_label(line))
			rc = instruction(&a, line);
	if (!rc)
		*n = a.n;
	return rc;
}
