// SPDX-License-Identifier: MIT
/*
 * Conversions between numbers and text: bpf_strtol, bpf_strtoul,
 * bpf_snprintf. They do not use the locale or errno of the process.
 * Semantics: bpf-helpers(7); formats are those of bpf_trace_printk.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "core/bpf/exec/run/bodies.h"
#include "core/bpf/exec/run/trace.h"

enum { MAX_VALUES = 12 };

/* The text that is left to parse. */
struct text {
	const char *at, *end;
};

static bool blank(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Return the value of @c as a digit of some base; 255 if it is no digit. */
static uint32_t digit(char c)
{
	if (c >= '0' && c <= '9')
		return (uint32_t)(c - '0');
	c = (char)(c | 0x20);
	return c >= 'a' && c <= 'f' ? (uint32_t)(c - 'a') + 10 : 255;
}

static bool hexadecimal(const struct text *t, ptrdiff_t most)
{
	return t->end - t->at >= most && t->at[0] == '0' && (t->at[1] | 0x20) == 'x';
}

/* Skip a prefix such as 0x, and return the base that it means. */
static uint32_t base_of(struct text *t, uint32_t base)
{
	if (!base) {
		if (hexadecimal(t, 3) && digit(t->at[2]) < 16)
			base = 16;
		else
			base = t->at < t->end && *t->at == '0' ? 8 : 10;
	}
	if (base == 16 && hexadecimal(t, 2))
		t->at += 2;
	return base;
}

/* Parse digits of @base. Returns 0, -EINVAL (no digits) or -ERANGE. */
static int text_digits(struct text *t, uint32_t base, uint64_t *value)
{
	const char *first = t->at;
	bool over = false;

	*value = 0;
	for (; t->at < t->end && digit(*t->at) < base; t->at++) {
		over |= __builtin_mul_overflow(*value, base, value);
		over |= __builtin_add_overflow(*value, digit(*t->at), value);
	}
	if (t->at == first)
		return -EINVAL;
	return over ? -ERANGE : 0;
}

/* Parse a number; @signs: it may begin with a minus. Returns the number of
 * characters used, or an error. */
static int64_t text_number(const char *mem, uint64_t size, uint64_t base, bool signs,
			   uint64_t *value)
{
	struct text t = { mem, mem + size };
	bool minus;
	int rc;

	if (base != 0 && base != 8 && base != 10 && base != 16)
		return -EINVAL;
	while (t.at < t.end && blank(*t.at))
		t.at++;
	minus = t.at < t.end && *t.at == '-';
	if (minus && !signs)
		return -EINVAL;
	t.at += minus;
	rc = text_digits(&t, base_of(&t, (uint32_t)base), value);
	if (!rc && signs && *value > (uint64_t)INT64_MAX + minus)
		rc = -ERANGE;
	if (rc)
		return rc;
	if (minus)
		*value = 0 - *value;
	return t.at - mem;
}

static uint64_t text_convert(uint64_t mem, uint64_t size, uint64_t base, bool signs, uint64_t to)
{
	uint64_t value = 0;
	int64_t rc = text_number(nb_body_ptr(mem), size, base, signs, &value);

	if (rc < 0)
		value = 0;
	memcpy(nb_body_ptr(to), &value, sizeof(value));
	return nb_body_errno(rc);
}

uint64_t helper_strtol(NB_HELPER_ARGS)
{
	return text_convert(r1, r2, r3, true, r4);
}

uint64_t helper_strtoul(NB_HELPER_ARGS)
{
	return text_convert(r1, r2, r3, false, r4);
}

uint64_t helper_snprintf(NB_HELPER_ARGS)
{
	const char *fmt = nb_body_ptr(r3);
	uint64_t arg[MAX_VALUES];
	int n = -EINVAL;

	if (r5) /* Without numbers to print, @r4 may be NULL. */
		memcpy(arg, nb_body_ptr(r4), r5 < sizeof(arg) ? r5 : sizeof(arg));
	/*
	 * The verifier lets the policy read all of this memory after the call.
	 */
	memset(nb_body_ptr(r1), 0, r2);
	if (r5 % 8 == 0 && r5 <= sizeof(arg))
		n = nb_trace_format(nb_body_ptr(r1), r2, fmt, strlen(fmt), arg, (int)(r5 / 8));
	return nb_body_errno(n < 0 ? n : n + 1);
}
