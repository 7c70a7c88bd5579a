// SPDX-License-Identifier: MIT
/*
 * Read the text of tables: NVIDIA's tuner files (8 to 10 columns in a fixed
 * order), or any of the columns below after a line that names them.
 * NVIDIA's reader skips lines that it does not understand. This reader
 * refuses the table and reports the place of such lines and the allowed
 * values.
 */
#include <stdlib.h>
#include <string.h>

#include "core/base/ascii.h"
#include "core/spec/spec.h"
#include "core/csvpolicy/part.h"
#include "core/defs/ctx.h"

enum { MAX_FIELDS = 16, LEAST_FIELDS = 8, MAX_FIELD = 64 };

/* The columns; the first ten are NVIDIA's, in their order. */
enum column {
	COLL,
	MIN,
	MAX,
	ALGO,
	PROTO,
	CHANNELS,
	NODES,
	RANKS,
	PIPE_OPS,
	REG_BUFF,
	NVIDIA,
	BYTES = NVIDIA,
	RANK_MIN,
	RANK_MAX,
	RANK_BYTES,
	NCOLUMNS
};

/* The bounds of the size that a column sets. PER_RANK: the size is for each
 * rank. */
enum { LOW = 1, HIGH = 2, PER_RANK = 4 };

/* The names of columns in headers; case and _ do not matter. */
static const struct {
	const char *name;
	/* The bounds that a size column sets; 0 if the column is no size. */
	unsigned bounds;
	/* The field that a column with a number sets. */
	enum nb_table_field field;
	const char *aliases[3]; /* Other names of the column in headers. */
} columns[NCOLUMNS] = {
	[COLL] = { "collective",
		   .aliases = { "coll", "colltype", "collectivetype" } },
	[MIN] = { "min_bytes", LOW },
	[MAX] = { "max_bytes", HIGH },
	[ALGO] = { "algorithm", 0, NB_ROW_ALGO, { "algo" } },
	[PROTO] = { "protocol", 0, NB_ROW_PROTO, { "proto" } },
	[CHANNELS] = { "channels", 0, NB_ROW_CHANNELS, { "nchannels" } },
	[NODES] = { "nodes", 0, NB_ROW_NODES, { "nnodes" } },
	[RANKS] = { "ranks", 0, NB_ROW_RANKS, { "nranks" } },
	[PIPE_OPS] = { "pipe_ops", 0, NB_ROW_PIPE_OPS, { "numpipeops" } },
	[REG_BUFF] = { "reg_buff", 0, NB_ROW_REG_BUFF, { "regbuf" } },
	[BYTES] = { "bytes", LOW | HIGH },
	[RANK_MIN] = { "min_bytes_per_rank", LOW | PER_RANK },
	[RANK_MAX] = { "max_bytes_per_rank", HIGH | PER_RANK },
	[RANK_BYTES] = { "bytes_per_rank", LOW | HIGH | PER_RANK },
};

struct span {
	const char *p;
	size_t n;
};

struct parser {
	struct nb_table *t;
	struct nb_table_where *where;
	struct nb_err *err;
	uint32_t line;
	struct span text; /* The text of the line */
	struct span field[MAX_FIELDS];
	uint32_t nfields;
	enum column column[MAX_FIELDS];
	uint32_t ncolumns;
	bool named; /* A header line named the columns. */
	/* A fault after which the meaning of the other lines is not known. */
	bool lost;
};

static struct span trim(struct span s)
{
	while (s.n && (*s.p == ' ' || *s.p == '\t')) {
		s.p++;
		s.n--;
	}
	while (s.n && strchr(" \t\r", s.p[s.n - 1]))
		s.n--;
	return s;
}

/* Record field @i of the line as the place of the error; returns @rc. */
static int set_place(struct parser *p, uint32_t i, int rc)
{
	p->where->line = p->line;
	p->where->col = 1;
	p->where->field = "";
	if (i < p->nfields)
		p->where->col = (uint32_t)(p->field[i].p - p->text.p) + 1;
	if (i < p->nfields && i < p->ncolumns)
		p->where->field = columns[p->column[i]].name;
	return rc;
}

/* Fail with the message: NAME "value": ALLOWED expected. */
static int bad_field(struct parser *p, uint32_t i, const char *allowed)
{
	struct span f = p->field[i];

	return set_place(p, i,
			 nb_fail(p->err, NB_E_FORMAT, 0,
				 "%s \"%.*s\": %s expected",
				 columns[p->column[i]].name,
				 (int)(f.n < MAX_FIELD ? f.n : MAX_FIELD), f.p,
				 allowed));
}

static bool is_word(struct span s, const char *word)
{
	return s.n == strlen(word) && nb_same_words(s.p, word, s.n);
}

static bool is_any(struct span s)
{
	return !s.n || is_word(s, "-1") || is_word(s, "any");
}

/* Add to the error, as a hint, the names of @list that resemble field @i. */
static void hint_nearest(struct parser *p, uint32_t i, const char *const *list,
			 size_t n)
{
	char text[MAX_FIELD] = "";
	const char *near[2];

	if (p->field[i].n < sizeof(text))
		memcpy(text, p->field[i].p, p->field[i].n);
	nb_spec_nearest(text, list, n, near);
	if (near[0])
		nb_hint(p->err, "nearest: %s%s%s", near[0],
			near[1] ? " or " : "", near[1] ? near[1] : "");
}

static int read_word(struct parser *p, uint32_t i,
		     const struct nb_table_field_spec *field, int32_t *out)
{
	struct span f = p->field[i];
	char text[MAX_FIELD] = "";
	const char *words[8];
	struct nb_buf list;
	size_t n = 0;
	int rc;

	if (f.n < sizeof(text))
		memcpy(text, f.p, f.n);
	*out = field->number(text);
	if (*out >= 0)
		return 0;
	nb_buf_init(&list, 0);
	while (n < 8 && (words[n] = field->word((int)n)))
		nb_buf_printf(&list, "%s, ", words[n++]);
	nb_buf_str(&list, "or -1");
	rc = bad_field(p, i, nb_buf_text(&list));
	nb_buf_fini(&list);
	hint_nearest(p, i, words, n);
	return rc;
}

enum { TOO_LARGE = -2 };

/* Read decimal digits. Returns 0, -1 if there are none, or TOO_LARGE for
 * 2^64 or more. */
static int read_digits(struct span *s, uint64_t *v)
{
	size_t n = 0;
	bool large = false;

	*v = 0;
	for (; n < s->n && nb_is_digit(s->p[n]); n++) {
		uint64_t d = (uint64_t)(s->p[n] - '0');

		large |= *v > (UINT64_MAX - d) / 10;
		*v = *v * 10 + d;
	}
	s->p += n;
	s->n -= n;
	return !n ? -1 : large ? TOO_LARGE : 0;
}

static int read_number(struct parser *p, uint32_t i,
		       const struct nb_table_field_spec *field, int32_t *out)
{
	struct span f = p->field[i];
	uint64_t v;

	if (read_digits(&f, &v) || f.n || v < (uint64_t)field->least ||
	    v > (uint64_t)field->most)
		return bad_field(p, i, field->allowed);
	*out = (int32_t)v;
	return 0;
}

/* Read a size such as "4096", "4K", "4KiB" or "4MB"; returns 0, -1 or
 * TOO_LARGE. */
static int read_size(struct span s, uint64_t *v)
{
	static const char units[] = "kmgt";
	const char *u;
	unsigned shift;
	int rc = read_digits(&s, v);

	if (rc == -1)
		return rc;
	u = s.n ? strchr(units, nb_lower(*s.p)) : NULL;
	if (u && *u) {
		shift = 10 * (unsigned)(u - units + 1);
		if (*v > UINT64_MAX >> shift)
			rc = TOO_LARGE;
		*v <<= shift;
		s.p++;
		s.n--;
		if (s.n && (*s.p == 'i' || *s.p == 'I') && s.n == 2) {
			s.p++;
			s.n--;
		}
	}
	if (s.n && (*s.p == 'b' || *s.p == 'B')) {
		s.p++;
		s.n--;
	}
	return s.n ? -1 : rc;
}

#define SIZES "bytes (4194304, 4M, 4MiB)"

static int read_bytes(struct parser *p, uint32_t i, bool upper, int64_t *out)
{
	uint64_t v = 0;
	int rc;

	if (is_any(p->field[i])) {
		*out = upper ? NB_TABLE_MAX_BYTES : 0;
		return 0;
	}
	rc = read_size(p->field[i], &v);
	if (rc)
		return bad_field(p, i,
				 rc == TOO_LARGE ? "less than 2^64 bytes"
						 : SIZES " or -1");
	if (v > (uint64_t)NB_TABLE_MAX_BYTES) {
		if (!upper)
			return bad_field(p, i, "less than 2^63");
		v = (uint64_t)NB_TABLE_MAX_BYTES;
	}
	*out = (int64_t)v;
	return 0;
}

/* Read an interval: "4M..32M", "4M..", "..32M" or "4M". */
static int read_interval(struct parser *p, uint32_t i, int64_t *min,
			 int64_t *max)
{
	static const char form[] =
		"an interval of bytes (4M..32M, 4M.., ..32M, 4M) or -1";
	struct span f = p->field[i], a = f, b = f;
	const char *dots = memmem(f.p, f.n, "..", 2);
	uint64_t lo = 0, hi = (uint64_t)NB_TABLE_MAX_BYTES;

	*min = 0;
	*max = NB_TABLE_MAX_BYTES;
	if (is_any(f))
		return 0;
	if (dots) {
		a.n = (size_t)(dots - f.p);
		b.p = dots + 2;
		b.n = f.n - a.n - 2;
		a = trim(a);
		b = trim(b);
	}
	if ((!a.n && !b.n) || (a.n && read_size(a, &lo)) ||
	    (b.n && read_size(b, &hi)))
		return bad_field(p, i, form);
	if (hi > (uint64_t)NB_TABLE_MAX_BYTES)
		hi = (uint64_t)NB_TABLE_MAX_BYTES;
	if (lo > hi)
		return bad_field(p, i, "the smaller size first");
	*min = (int64_t)lo;
	*max = (int64_t)hi;
	return 0;
}

/* A row of the table, while the parser reads its fields. */
struct reading {
	struct nb_table_row row;
	int64_t rank_min, rank_max; /* Bounds of a size for each rank. */
	bool per_rank;		    /* Some field set a size for each rank. */
};

static int read_field(struct parser *p, uint32_t i, struct reading *r)
{
	unsigned bounds = columns[p->column[i]].bounds;
	enum nb_table_field f = columns[p->column[i]].field;
	int64_t *min = bounds & PER_RANK ? &r->rank_min : &r->row.min;
	int64_t *max = bounds & PER_RANK ? &r->rank_max : &r->row.max;

	r->per_rank |= bounds & PER_RANK && p->field[i].n;
	switch (bounds & (LOW | HIGH)) {
	case LOW:
		return read_bytes(p, i, false, min);
	case HIGH:
		return read_bytes(p, i, true, max);
	case LOW | HIGH:
		return read_interval(p, i, min, max);
	}
	if (is_any(p->field[i]))
		return 0;
	return nb_table_fields[f].word
		       ? read_word(p, i, &nb_table_fields[f],
				   nb_table_field(&r->row, f))
		       : read_number(p, i, &nb_table_fields[f],
				     nb_table_field(&r->row, f));
}

static uint32_t field_of_column(const struct parser *p, enum column a,
				enum column b)
{
	for (uint32_t i = 0; i < p->nfields; i++)
		if (p->column[i] == a || p->column[i] == b)
			return i;
	return 0;
}

/* Multiply sizes for each rank by the number of ranks. */
static int times_ranks(struct parser *p, struct reading *r)
{
	uint32_t i = field_of_column(p, RANK_BYTES, RANK_MAX);
	int64_t ranks = r->row.ranks;

	if (!r->per_rank)
		return 0;
	if (ranks < 0)
		return set_place(
			p, i,
			nb_fail(p->err, NB_E_FORMAT, 0,
				"sizes per rank need the number of ranks in the same row"));
	if (__builtin_mul_overflow(r->rank_min, ranks, &r->row.min))
		return bad_field(p, i,
				 "a size below 2^63 bytes over all ranks");
	if (r->rank_max == NB_TABLE_MAX_BYTES ||
	    __builtin_mul_overflow(r->rank_max + 1, ranks, &r->row.max))
		r->row.max = NB_TABLE_MAX_BYTES;
	else
		r->row.max--;
	return 0;
}

static int add_row(struct parser *p, const struct nb_table_row *row)
{
	struct nb_table *t = p->t;
	uint32_t cap = t->cap ? t->cap * 2 : 64;
	struct nb_table_row *rows;

	p->lost = t->n == NB_TABLE_MAX_ROWS;
	if (t->n == NB_TABLE_MAX_ROWS)
		return set_place(p, 0,
				 nb_fail(p->err, NB_E_LIMIT, 0,
					 "more than %d rows",
					 NB_TABLE_MAX_ROWS));
	if (t->n == t->cap) {
		rows = reallocarray(t->rows, cap, sizeof(*rows));
		p->lost = !rows;
		if (!rows)
			return nb_fail(p->err, NB_E_NOMEM, 0,
				       "table: out of memory");
		t->rows = rows;
		t->cap = cap;
	}
	t->rows[t->n++] = *row;
	return 0;
}

static int count_fields(struct parser *p)
{
	if (p->named ? p->nfields == p->ncolumns
		     : p->nfields >= LEAST_FIELDS && p->nfields <= NVIDIA)
		return 0;
	if (p->named)
		return set_place(p, p->nfields,
				 nb_fail(p->err, NB_E_FORMAT, 0,
					 "%u fields; the header names %u",
					 p->nfields, p->ncolumns));
	nb_fail(p->err, NB_E_FORMAT, 0,
		"%u fields; 8 to 10 expected: collective, min_bytes, max_bytes, "
		"algorithm, protocol, channels, nodes, ranks, pipe_ops, reg_buff",
		p->nfields);
	return set_place(p, p->nfields, NB_E_FORMAT);
}

static int read_row(struct parser *p)
{
	struct reading r = {
		.row = { 0, NB_TABLE_MAX_BYTES, -1, -1, -1, -1, -1, -1, -1, -1,
			 p->line },
		.rank_max = NB_TABLE_MAX_BYTES,
	};
	const char *field = "";
	int rc = count_fields(p);

	for (uint32_t i = 0; !rc && i < p->nfields; i++)
		rc = read_field(p, i, &r);
	if (!rc)
		rc = times_ranks(p, &r);
	if (rc)
		return rc;
	rc = nb_table_check_row(&r.row, &field, p->err);
	if (rc)
		return set_place(p,
				 !strcmp(field, "max_bytes")
					 ? field_of_column(p, MAX, RANK_MAX)
					 : field_of_column(p, ALGO, ALGO),
				 rc);
	return add_row(p, &r.row);
}

/* Are the words equal, apart from case and _? */
static bool same_word(struct span s, const char *word)
{
	for (; *word || s.n; word++) {
		while (s.n && *s.p == '_') {
			s.p++;
			s.n--;
		}
		if (*word == '_')
			continue;
		if (!s.n || nb_lower(*s.p) != *word)
			return !s.n && !*word;
		s.p++;
		s.n--;
	}
	return true;
}

/* Return the column that a word of the header names; NCOLUMNS if it names
 * none. */
static enum column column_named(struct span s)
{
	for (int c = 0; c < NCOLUMNS; c++) {
		if (same_word(s, columns[c].name))
			return (enum column)c;
		for (int i = 0; i < 3 && columns[c].aliases[i]; i++)
			if (same_word(s, columns[c].aliases[i]))
				return (enum column)c;
	}
	return NCOLUMNS;
}

static int header_fault(struct parser *p, uint32_t i, const char *what)
{
	const char *names[NCOLUMNS];
	struct span f = p->field[i];
	int rc = nb_fail(p->err, NB_E_FORMAT, 0, "column \"%.*s\": %s",
			 (int)(f.n < MAX_FIELD ? f.n : MAX_FIELD), f.p, what);

	p->ncolumns = 0;
	p->lost = true;
	for (int c = 0; c < NCOLUMNS; c++)
		names[c] = columns[c].name;
	hint_nearest(p, i, names, NCOLUMNS);
	return set_place(p, i, rc);
}

/* Do two columns set the same value, or one of them sizes and the other
 * sizes per rank? */
static bool columns_clash(enum column a, enum column b)
{
	unsigned x = columns[a].bounds, y = columns[b].bounds;

	return a == b || x & y & (LOW | HIGH) || (x && y && (x ^ y) & PER_RANK);
}

static int read_header(struct parser *p)
{
	for (uint32_t i = 0; i < p->nfields; i++) {
		enum column c = column_named(p->field[i]);

		if (c == NCOLUMNS)
			return header_fault(p, i, "no such column");
		for (uint32_t k = 0; k < i; k++)
			if (columns_clash(p->column[k], c))
				return header_fault(
					p, i,
					"another column of the header sets the same value");
		p->column[i] = c;
	}
	p->ncolumns = p->nfields;
	p->named = true;
	return 0;
}

static int split_line(struct parser *p)
{
	struct span rest = p->text;
	const char *comma;

	p->nfields = 0;
	do {
		struct span f = rest;

		if (p->nfields == MAX_FIELDS)
			return set_place(p, MAX_FIELDS,
					 nb_fail(p->err, NB_E_FORMAT, 0,
						 "more than %d fields",
						 MAX_FIELDS));
		comma = memchr(rest.p, ',', rest.n);
		if (comma) {
			f.n = (size_t)(comma - rest.p);
			rest.n -= f.n + 1;
			rest.p = comma + 1;
		}
		p->field[p->nfields++] = trim(f);
	} while (comma);
	return 0;
}

/* Return the index of the first control character; -1 if there is none. */
static int control_char(struct span s)
{
	for (size_t i = 0; i < s.n; i++)
		if ((unsigned char)s.p[i] < 32 && s.p[i] != '\t' &&
		    s.p[i] != '\r')
			return (int)i;
	return -1;
}

static int read_line(struct parser *p, bool *began)
{
	struct span s = trim(p->text);
	int where = control_char(p->text), rc;

	p->nfields = 0;
	if (p->text.n > NB_TABLE_MAX_LINE)
		return set_place(
			p, 0,
			nb_fail(p->err, NB_E_LIMIT, 0,
				"the line has %zu bytes; at most %d are allowed",
				p->text.n, NB_TABLE_MAX_LINE));
	if (where >= 0) {
		rc = nb_fail(p->err, NB_E_FORMAT, 0, "byte 0x%02x: not text",
			     (uint8_t)p->text.p[where]);
		set_place(p, 0, rc);
		p->where->col = (uint32_t)where + 1;
		return rc;
	}
	if (!s.n || *s.p == '#')
		return 0;
	rc = split_line(p);
	if (rc)
		return rc;
	if (!*began) {
		*began = true;
		if (column_named(p->field[0]) != NCOLUMNS)
			return read_header(p);
	}
	return read_row(p);
}

uint32_t nb_table_read(struct nb_table *t, const char *text, size_t size_,
		       struct nb_table_fault *faults, uint32_t most)
{
	struct parser p = { .t = t };
	struct span rest = { text, size_ };
	bool began = false;
	uint32_t n = 0;

	for (uint32_t c = 0; c < NVIDIA; c++)
		p.column[c] = (enum column)c;
	p.ncolumns = NVIDIA;
	if (rest.n >= 3 && !memcmp(rest.p, "\xef\xbb\xbf", 3)) {
		rest.p += 3; /* Skip a byte order mark. */
		rest.n -= 3;
	}
	while (rest.n && n < most && !p.lost) {
		const char *end = memchr(rest.p, '\n', rest.n);

		faults[n] = (struct nb_table_fault){ .where.field = "" };
		p.where = &faults[n].where;
		p.err = &faults[n].err;
		p.line++;
		p.text = rest;
		p.text.n = end ? (size_t)(end - rest.p) : rest.n;
		rest.p += p.text.n + !!end;
		rest.n -= p.text.n + !!end;
		n += read_line(&p, &began) != 0;
	}
	if (!n && !t->n) {
		faults[n] = (struct nb_table_fault){ .where.field = "" };
		nb_fail(&faults[n++].err, NB_E_FORMAT, 0,
			"a table without rows");
	}
	return n;
}

int nb_table_parse(struct nb_table *t, const char *text, size_t size_,
		   struct nb_table_where *where, struct nb_err *err)
{
	struct nb_table_fault f = { .where.field = "" };
	bool bad = nb_table_read(t, text, size_, &f, 1);

	*where = f.where;
	if (bad && err)
		*err = f.err;
	return bad ? f.err.code : 0;
}

static void put_field(struct nb_buf *out, const struct nb_table_row *r,
		      enum nb_table_field f)
{
	int32_t v = nb_table_value(r, f);

	if (nb_table_fields[f].word && v >= 0)
		nb_buf_printf(out, "%s,", nb_table_fields[f].word(v));
	else
		nb_buf_printf(out, "%d%s", v,
			      f + 1 < NB_ROW_NFIELDS ? "," : "\n");
}

void nb_table_csv(const struct nb_table *t, struct nb_buf *out)
{
	nb_buf_str(out, "# collective,min_bytes,max_bytes,algorithm,protocol,"
			"channels,nodes,ranks,pipe_ops,reg_buff\n");
	for (uint32_t i = 0; i < t->n; i++) {
		const struct nb_table_row *r = &t->rows[i];

		put_field(out, r, NB_ROW_COLL);
		nb_buf_printf(out, "%lld,", (long long)r->min);
		if (r->max == NB_TABLE_MAX_BYTES)
			nb_buf_str(out, "18446744073709551615,");
		else
			nb_buf_printf(out, "%lld,", (long long)r->max);
		for (unsigned f = NB_ROW_ALGO; f < NB_ROW_NFIELDS; f++)
			put_field(out, r, f);
	}
}
