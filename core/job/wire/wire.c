// SPDX-License-Identifier: MIT
/*
 * Parse request lines and write replies of the control protocol. The row of
 * a command in core/defs/commands.h is its grammar: words, number of
 * arguments, and the options in its syntax text. Any input gives either an
 * error or a request within all limits.
 */
#include "core/job/wire/wire.h"

#include <stdio.h>
#include <string.h>

struct word {
	char *text;
	char *eq;  /* Place of an option's '='; NULL for an argument. */
	size_t at; /* Byte of the line, counted from 1. */
};

struct line {
	char *start, *in, *end; /* @in: the next byte to read. */
	char *out;		/* Where decoded text goes; never beyond @in. */
};

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static bool is_name_char(char c)
{
	return (c >= 'a' && c <= 'z') || c == '_';
}

static size_t line_at(const struct line *l)
{
	return (size_t)(l->in - l->start) + 1;
}

/*
 * Decode the next word in place. Quotes group; a backslash makes the next
 * character literal; only an unquoted "name=" starts an option. Returns 1
 * for a word, 0 at the end, a negative code on error.
 */
static int next_word(struct line *l, struct word *w, struct nb_err *err)
{
	bool quoted = false, bare = true;
	size_t quote = 0;

	while (l->in < l->end && is_blank(*l->in))
		l->in++;
	if (l->in == l->end)
		return 0;
	*w = (struct word){ .text = l->out, .at = line_at(l) };
	while (l->in < l->end && (quoted || !is_blank(*l->in))) {
		char c = *l->in;

		if (c == '"') {
			quote = line_at(l);
			quoted = !quoted;
			bare = false;
			l->in++;
			continue;
		}
		if (c == '\\') {
			if (l->in + 1 == l->end)
				return nb_fail(err, NB_E_USAGE, (uint32_t)line_at(l),
					       "byte %zu: a backslash with nothing after it",
					       line_at(l));
			c = *++l->in;
			bare = false;
		} else if (c == '=' && bare && l->out > w->text) {
			w->eq = l->out;
			bare = false;
		} else if (!is_name_char(c)) {
			bare = false;
		}
		*l->out++ = c;
		l->in++;
	}
	if (quoted)
		return nb_fail(err, NB_E_USAGE, (uint32_t)quote,
			       "byte %zu: this double quote is never closed", quote);
	if (l->in < l->end)
		l->in++; /* Skip this blank, since the NUL may overwrite it. */
	*l->out++ = '\0';
	return 1;
}

/* Take the id, for example "@7 ", from the start of the line, if there is
 * one. */
static int take_id(struct nb_request *req, struct line *l, struct nb_err *err)
{
	uint64_t id = 0;
	char *p = l->in;

	if (p == l->end || *p != '@')
		return 0;
	for (p++; p < l->end && *p >= '0' && *p <= '9' && id <= NB_WIRE_MAX_ID; p++)
		id = id * 10 + (uint64_t)(*p - '0');
	if (p == l->in + 1 || id > NB_WIRE_MAX_ID || (p < l->end && !is_blank(*p)))
		return nb_fail(err, NB_E_PROTOCOL, 1,
			       "request id: "
			       "found \"%.20s\", allowed @ and a number up to %llu, then a blank",
			       l->in, NB_WIRE_MAX_ID);
	l->in = p;
	req->has_id = true;
	req->id = id;
	return 0;
}

/* Check that the line is UTF-8 without control characters except the tab. */
static int wire_check_text(const char *line, size_t size, struct nb_err *err)
{
	const unsigned char *s = (const unsigned char *)line;

	for (size_t i = 0; i < size;) {
		size_t len = nb_utf8_len(s + i, size - i);

		if (!len)
			return nb_fail(
				err, NB_E_PROTOCOL, (uint32_t)(i + 1),
				"byte %zu of the request is 0x%02x, which is not UTF-8 there",
				i + 1, s[i]);
		if ((s[i] < 0x20 && s[i] != '\t') || s[i] == 0x7f)
			return nb_fail(err, NB_E_PROTOCOL, (uint32_t)(i + 1),
				       "byte %zu of the request is the control character 0x%02x",
				       i + 1, s[i]);
		i += len;
	}
	return 0;
}

/* Return how many of the @n words @w match the command @words ("a" or "a
 * b"). */
static unsigned match_words(const char *words, const char *const *w, unsigned n)
{
	const char *gap = strchr(words, ' ');
	size_t first = gap ? (size_t)(gap - words) : strlen(words);

	if (!n || strlen(w[0]) != first || memcmp(w[0], words, first) != 0)
		return 0;
	if (!gap)
		return 1;
	return n > 1 && !strcmp(w[1], gap + 1) ? 2 : 0;
}

static int fail_no_command(const char *const *w, unsigned n, struct nb_err *err)
{
	const char *all[NB_NCMDS], *near[2];
	char text[64];

	if (!n)
		return nb_fail(err, NB_E_USAGE, 1, "the request is empty: a command is needed");
	for (unsigned c = 0; c < NB_NCMDS; c++)
		all[c] = nb_spec_cmd((enum nb_cmd)c)->words;
	snprintf(text, sizeof(text), "%.30s%s%.30s", w[0], n > 1 ? " " : "", n > 1 ? w[1] : "");
	nb_spec_nearest(text, all, NB_NCMDS, near);
	if (!near[0] && n > 1)
		nb_spec_nearest(w[0], all, NB_NCMDS, near);
	nb_fail(err, NB_E_USAGE, 0, "there is no command \"%s\"%s%s%s%s", text,
		near[0] ? "; the nearest: " : "", near[0] ? near[0] : "", near[1] ? ", " : "",
		near[1] ? near[1] : "");
	return nb_hint(err, "help lists the commands");
}

static int find_command(struct nb_request *req, struct nb_err *err)
{
	unsigned used = 0;

	for (unsigned c = 0; c < NB_NCMDS; c++) {
		const struct nb_cmd_spec *spec = nb_spec_cmd((enum nb_cmd)c);
		unsigned n = match_words(spec->words, req->arg, req->narg);

		if (n > used) {
			used = n;
			req->cmd = (enum nb_cmd)c;
			req->spec = spec;
		}
	}
	if (!used)
		return fail_no_command(req->arg, req->narg, err);
	req->narg -= used;
	memmove(req->arg, req->arg + used, req->narg * sizeof(req->arg[0]));
	return 0;
}

static int check_arity(const struct nb_request *req, unsigned given, struct nb_err *err)
{
	const struct nb_cmd_spec *s = req->spec;

	if (given >= s->least && given <= s->most)
		return 0;
	if (s->least == s->most)
		nb_fail(err, NB_E_USAGE, 0, "%s: %u arguments given, %u needed", s->words, given,
			s->least);
	else
		nb_fail(err, NB_E_USAGE, 0, "%s: %u arguments given, %u to %u allowed", s->words,
			given, s->least, s->most);
	return nb_hint(err, "%s%s%s", s->words, s->syntax[0] ? " " : "", s->syntax);
}

/* Find the next "name=VALUES" of a syntax text from *@p on; returns false
 * at the end. */
static bool next_option(const char **p, const char **name, size_t *nname, const char **values,
			size_t *nvalues)
{
	const char *eq = strchr(*p, '='), *start;

	if (!eq)
		return false;
	for (start = eq; start > *p && is_name_char(start[-1]);)
		start--;
	*name = start;
	*nname = (size_t)(eq - start);
	*values = eq + 1;
	*nvalues = strcspn(eq + 1, "] ");
	*p = *values + *nvalues;
	return true;
}

static bool is_one_of(const char *value, const char *words, size_t n)
{
	size_t len = strlen(value);

	while (n) {
		size_t part = 0;

		while (part < n && words[part] != '|')
			part++;
		if (part == len && !memcmp(words, value, len))
			return true;
		words += part < n ? part + 1 : part;
		n -= part < n ? part + 1 : part;
	}
	return false;
}

/* A row whose values are only "no" or only "yes" allows both. */
static bool value_allowed(const char *value, const char *words, size_t n)
{
	if (!is_name_char(words[0]))
		return true;
	if (is_one_of("no", words, n) || is_one_of("yes", words, n))
		return !strcmp(value, "no") || !strcmp(value, "yes");
	return is_one_of(value, words, n);
}

static int check_option(struct nb_request *req, const struct nb_wire_opt *o, struct nb_err *err)
{
	const char *p = req->spec->syntax, *name, *values;
	size_t nname, nvalues;

	while (next_option(&p, &name, &nname, &values, &nvalues)) {
		if (strlen(o->name) != nname || memcmp(name, o->name, nname) != 0)
			continue;
		if (nb_request_opt(req, o->name))
			return nb_fail(err, NB_E_USAGE, 0, "%s: option %s= is given twice",
				       req->spec->words, o->name);
		if (!value_allowed(o->value, values, nvalues))
			return nb_fail(err, NB_E_ARG, 0,
				       "%s: option %s=: found \"%.40s\", allowed %.*s",
				       req->spec->words, o->name, o->value, (int)nvalues, values);
		if (req->nopt == NB_WIRE_OPTS)
			return nb_fail(err, NB_E_LIMIT, 0, "%s: more than %d options",
				       req->spec->words, NB_WIRE_OPTS);
		req->opt[req->nopt++] = *o;
		return 0;
	}
	nb_fail(err, NB_E_USAGE, 0, "%s has no option named %.40s=", req->spec->words, o->name);
	return nb_hint(err, "%s%s%s", req->spec->words, req->spec->syntax[0] ? " " : "",
		       req->spec->syntax);
}

const char *nb_request_opt(const struct nb_request *req, const char *name)
{
	for (unsigned i = 0; i < req->nopt; i++)
		if (!strcmp(req->opt[i].name, name))
			return req->opt[i].value;
	return NULL;
}

bool nb_request_yes(const struct nb_request *req, const char *name, bool absent)
{
	const char *value = nb_request_opt(req, name);

	return value ? !strcmp(value, "yes") : absent;
}

/* Room for two command words and the arguments. */
enum { MAX_WORDS = NB_WIRE_ARGS + 2 };

struct words {
	const char *plain[MAX_WORDS];
	struct nb_wire_opt opt[NB_WIRE_OPTS];
	/* Numbers of arguments and options in the line; nplain may exceed the
	 * array's size. */
	unsigned nplain, nopt;
};

static int collect_words(struct words *ws, struct line *l, struct nb_err *err)
{
	bool verbatim = false;
	struct word w;
	int rc;

	while ((rc = next_word(l, &w, err)) > 0) {
		if (!verbatim && !strcmp(w.text, "--") && !w.eq) {
			verbatim = true;
		} else if (w.eq && !verbatim) {
			if (ws->nopt == NB_WIRE_OPTS)
				return nb_fail(err, NB_E_LIMIT, (uint32_t)w.at,
					       "byte %zu: more than %d options", w.at,
					       NB_WIRE_OPTS);
			*w.eq = '\0';
			ws->opt[ws->nopt++] = (struct nb_wire_opt){ w.text, w.eq + 1 };
		} else {
			if (ws->nplain < MAX_WORDS)
				ws->plain[ws->nplain] = w.text;
			ws->nplain++;
		}
	}
	return rc;
}

int nb_request_parse(struct nb_request *req, char *line, size_t size, struct nb_err *err)
{
	struct line l = { line, line, line + size, line };
	struct words ws = { .nplain = 0 };
	unsigned given, kept;
	int rc;

	memset(req, 0, sizeof(*req));
	if (size && line[size - 1] == '\r')
		l.end--, size--;
	line[size] = '\0';
	rc = take_id(req, &l, err);
	if (!rc)
		rc = wire_check_text(line, size, err);
	if (!rc)
		rc = collect_words(&ws, &l, err);
	if (rc)
		return rc;

	/* The first words name the command; the rest are its arguments. */
	kept = ws.nplain < 2 ? ws.nplain : 2;
	memcpy(req->arg, ws.plain, kept * sizeof(req->arg[0]));
	req->narg = kept;
	rc = find_command(req, err);
	if (rc)
		return rc;
	given = ws.nplain - (kept - req->narg);
	rc = check_arity(req, given, err);
	if (rc)
		return rc;
	req->narg = given;
	memcpy(req->arg, ws.plain + (ws.nplain - given), given * sizeof(req->arg[0]));
	for (unsigned i = 0; i < ws.nopt && !rc; i++)
		rc = check_option(req, &ws.opt[i], err);
	return rc;
}

static int wire_hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

int nb_wire_hex(void *out, size_t size, const char *text, const char *what, struct nb_err *err)
{
	size_t n = strlen(text);
	unsigned char *to = out;

	for (size_t i = 0; i < n; i++)
		if (wire_hex_digit(text[i]) < 0)
			return nb_fail(err, NB_E_ARG, 0,
				       "%s \"%.40s\": character %zu is no hexadecimal digit", what,
				       text, i + 1);
	if (n != 2 * size)
		return nb_fail(err, NB_E_ARG, 0,
			       "%s \"%.40s\": %zu hexadecimal digits, %zu needed for %zu bytes",
			       what, text, n, 2 * size, size);
	for (size_t i = 0; i < size; i++)
		to[i] = (unsigned char)(wire_hex_digit(text[2 * i]) << 4 |
					wire_hex_digit(text[2 * i + 1]));
	return 0;
}

/* Read decimal digits at *@p; returns false if there are none, or if they
 * exceed 64 bits. */
static bool read_decimal(const char **p, uint64_t *out)
{
	const char *s = *p;
	uint64_t v = 0;

	for (; *s >= '0' && *s <= '9'; s++)
		if (__builtin_mul_overflow(v, (uint64_t)10, &v) ||
		    __builtin_add_overflow(v, (uint64_t)(*s - '0'), &v))
			return false;
	if (s == *p)
		return false;
	*p = s;
	*out = v;
	return true;
}

int nb_wire_number(uint64_t *out, const char *text, uint64_t min, uint64_t max, const char *what,
		   struct nb_err *err)
{
	const char *p = text;
	uint64_t v;

	if (!read_decimal(&p, &v) || *p || v < min || v > max)
		return nb_fail(err, NB_E_ARG, 0,
			       "%s: found \"%.40s\", allowed a number from %llu to %llu", what,
			       text, (unsigned long long)min, (unsigned long long)max);
	*out = v;
	return 0;
}

int nb_wire_size(uint64_t *out, const char *text, const char *what, struct nb_err *err)
{
	static const char units[] = "KMGTkmgt";
	const char *p = text, *unit;
	unsigned shift = 0;
	uint64_t v;
	bool good = read_decimal(&p, &v);

	if (good && *p && (unit = strchr(units, *p))) {
		shift = 10 * (unsigned)((unit - units) % 4 + 1);
		p++;
		if (*p == 'i' && p[1] == 'B')
			p++;
	}
	if (good && *p == 'B')
		p++;
	if (!good || *p || v > (UINT64_MAX >> shift))
		return nb_fail(err, NB_E_ARG, 0,
			       "%s: found \"%.40s\", allowed bytes as a number with or without K, "
			       "M, G or T (powers of 1024)",
			       what, text);
	*out = v << shift;
	return 0;
}

int nb_wire_id(uint64_t *out, const char *text, const char *what, struct nb_err *err)
{
	unsigned char b[8] = { 0 };
	uint64_t v = 0;
	int rc = nb_wire_hex(b, sizeof(b), text, what, err);

	for (size_t i = 0; !rc && i < sizeof(b); i++)
		v = v << 8 | b[i];
	if (!rc)
		*out = v;
	return rc;
}

static void reply_envelope(struct nb_json *j, struct nb_buf *out, const struct nb_request *req,
			   bool ok)
{
	nb_json_init(j, out);
	nb_json_obj(j);
	nb_json_ku64_if(j, "id", req && req->has_id, req ? req->id : 0);
	nb_json_kbool(j, "ok", ok);
}

void nb_reply_open(struct nb_json *j, struct nb_buf *out, const struct nb_request *req)
{
	reply_envelope(j, out, req, true);
	nb_json_key(j, "data");
}

void nb_reply_close(struct nb_json *j)
{
	nb_json_end_obj(j);
	nb_buf_char(j->out, '\n');
}

void nb_reply_end(struct nb_buf *out, const struct nb_request *req)
{
	struct nb_json j;

	reply_envelope(&j, out, req, true);
	nb_json_kbool(&j, "end", true);
	nb_reply_close(&j);
}

void nb_reply_error(struct nb_buf *out, const struct nb_request *req, const struct nb_err *err,
		    nb_reply_extra_fn *extra, void *arg)
{
	struct nb_json j;

	reply_envelope(&j, out, req, false);
	nb_json_kobj(&j, "error");
	nb_json_kstr(&j, "code", nb_err_word(err->code));
	nb_json_kstr(&j, "message", err->text);
	if (err->at)
		nb_json_ku64(&j, "at", err->at);
	if (err->hint[0])
		nb_json_kstr(&j, "hint", err->hint);
	if (extra)
		extra(&j, arg);
	nb_json_end_obj(&j);
	nb_reply_close(&j);
}
