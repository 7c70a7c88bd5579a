// SPDX-License-Identifier: MIT
/* A JSON writer (RFC 8259). The plugin never reads JSON, so there is no
 * reader. */
#include "core/base/json.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/base/ascii.h"

void nb_json_init(struct nb_json *j, struct nb_buf *out)
{
	memset(j, 0, sizeof(*j));
	j->out = out;
}

/* Write the comma before a value, unless a key has just been written. */
static void begin_value(struct nb_json *j)
{
	if (j->keyed) {
		j->keyed = false;
		return;
	}
	if (j->depth && j->comma[j->depth - 1])
		nb_buf_char(j->out, ',');
	if (j->depth)
		j->comma[j->depth - 1] = true;
}

static void json_open(struct nb_json *j, char c)
{
	begin_value(j);
	assert(j->depth < NB_JSON_DEPTH);
	nb_buf_char(j->out, c);
	j->comma[j->depth++] = false;
}

static void json_close(struct nb_json *j, char c)
{
	assert(j->depth > 0 && !j->keyed);
	j->depth--;
	nb_buf_char(j->out, c);
}

void nb_json_obj(struct nb_json *j)
{
	json_open(j, '{');
}

void nb_json_end_obj(struct nb_json *j)
{
	json_close(j, '}');
}

void nb_json_arr(struct nb_json *j)
{
	json_open(j, '[');
}

void nb_json_end_arr(struct nb_json *j)
{
	json_close(j, ']');
}

size_t nb_utf8_len(const unsigned char *s, size_t n)
{
	size_t len = s[0] < 0x80   ? 1
		     : s[0] < 0xc2 ? 0
		     : s[0] < 0xe0 ? 2
		     : s[0] < 0xf0 ? 3
		     : s[0] < 0xf5 ? 4
				   : 0;

	if (!len || len > n)
		return 0;
	for (size_t i = 1; i < len; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
	    (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
		return 0;
	return len;
}

static void json_escape(struct nb_buf *b, unsigned char c)
{
	static const char from[] = "\"\\\b\f\n\r\t", to[] = "\"\\bfnrt";
	const char *at = c ? strchr(from, c) : NULL;

	if (at)
		nb_buf_printf(b, "\\%c", to[at - from]);
	else
		nb_buf_printf(b, "\\u%04x", c);
}

static void json_quote(struct nb_buf *b, const char *text, size_t n)
{
	const unsigned char *s = (const unsigned char *)text;

	nb_buf_char(b, '"');
	while (n) {
		size_t len = nb_utf8_len(s, n);

		if (!len)
			nb_buf_str(b, "\xef\xbf\xbd");
		else if (s[0] < 0x20 || s[0] == '"' || s[0] == '\\')
			json_escape(b, s[0]);
		else
			nb_buf_bytes(b, s, len);
		len = len ? len : 1;
		s += len;
		n -= len;
	}
	nb_buf_char(b, '"');
}

void nb_json_key(struct nb_json *j, const char *key)
{
	assert(j->depth > 0 && !j->keyed);
	begin_value(j);
	json_quote(j->out, key, strlen(key));
	nb_buf_char(j->out, ':');
	j->keyed = true;
}

void nb_json_strn(struct nb_json *j, const char *s, size_t n)
{
	begin_value(j);
	json_quote(j->out, s, n);
}

void nb_json_str(struct nb_json *j, const char *s)
{
	if (s)
		nb_json_strn(j, s, strlen(s));
	else
		nb_json_null(j);
}

void nb_json_u64(struct nb_json *j, uint64_t v)
{
	begin_value(j);
	nb_buf_printf(j->out, "%llu", (unsigned long long)v);
}

void nb_json_i64(struct nb_json *j, int64_t v)
{
	begin_value(j);
	nb_buf_printf(j->out, "%lld", (long long)v);
}

void nb_json_f64(struct nb_json *j, double v)
{
	char text[NB_F64_TEXT];

	if (!isfinite(v)) {
		nb_json_null(j);
		return;
	}
	begin_value(j);
	nb_buf_bytes(j->out, text, nb_f64_text(text, v));
}

void nb_json_bool(struct nb_json *j, bool v)
{
	begin_value(j);
	nb_buf_str(j->out, v ? "true" : "false");
}

void nb_json_null(struct nb_json *j)
{
	begin_value(j);
	nb_buf_str(j->out, "null");
}

void nb_json_raw(struct nb_json *j, const char *json)
{
	begin_value(j);
	nb_buf_str(j->out, json);
}

void nb_json_hex(struct nb_json *j, const void *p, size_t size)
{
	static const char digit[] = "0123456789abcdef";
	const unsigned char *s = p;

	begin_value(j);
	nb_buf_char(j->out, '"');
	for (size_t i = 0; i < size; i++) {
		nb_buf_char(j->out, digit[s[i] >> 4]);
		nb_buf_char(j->out, digit[s[i] & 15]);
	}
	nb_buf_char(j->out, '"');
}

void nb_json_kobj(struct nb_json *j, const char *key)
{
	nb_json_key(j, key);
	nb_json_obj(j);
}

void nb_json_karr(struct nb_json *j, const char *key)
{
	nb_json_key(j, key);
	nb_json_arr(j);
}

void nb_json_knull(struct nb_json *j, const char *key)
{
	nb_json_key(j, key);
	nb_json_null(j);
}

void nb_json_ku64_if(struct nb_json *j, const char *key, bool known, uint64_t v)
{
	nb_json_key(j, key);
	if (known)
		nb_json_u64(j, v);
	else
		nb_json_null(j);
}

void nb_json_kstr(struct nb_json *j, const char *key, const char *s)
{
	nb_json_key(j, key);
	nb_json_str(j, s);
}

void nb_json_ku64(struct nb_json *j, const char *key, uint64_t v)
{
	nb_json_key(j, key);
	nb_json_u64(j, v);
}

void nb_json_ki64(struct nb_json *j, const char *key, int64_t v)
{
	nb_json_key(j, key);
	nb_json_i64(j, v);
}

void nb_json_kf64(struct nb_json *j, const char *key, double v)
{
	nb_json_key(j, key);
	nb_json_f64(j, v);
}

void nb_json_kbool(struct nb_json *j, const char *key, bool v)
{
	nb_json_key(j, key);
	nb_json_bool(j, v);
}

void nb_json_khex(struct nb_json *j, const char *key, const void *p, size_t n)
{
	nb_json_key(j, key);
	nb_json_hex(j, p, n);
}

void nb_json_id(struct nb_json *j, uint64_t id)
{
	char text[17];

	snprintf(text, sizeof(text), "%016llx", (unsigned long long)id);
	nb_json_str(j, text);
}

void nb_json_kid(struct nb_json *j, const char *key, uint64_t id)
{
	nb_json_key(j, key);
	nb_json_id(j, id);
}
