// SPDX-License-Identifier: MIT
/*
 * Base64 encoding of keys and values for etcd's JSON gateway. The decoder
 * accepts exactly what RFC 4648, section 4, allows: it requires padding, and
 * zeros in the unused bits.
 */
#include "plugin/store/base64.h"

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
			     "abcdefghijklmnopqrstuvwxyz0123456789+/";

void nb_base64_put(struct nb_buf *out, const void *p, size_t size)
{
	const uint8_t *b = p;

	if (!nb_buf_reserve(out, (size + 2) / 3 * 4)) {
		out->failed = true;
		return;
	}
	for (size_t i = 0; i < size; i += 3) {
		size_t n = size - i < 3 ? size - i : 3;
		uint32_t v = (uint32_t)b[i] << 16;
		char four[4] = { '=', '=', '=', '=' };

		if (n > 1)
			v |= (uint32_t)b[i + 1] << 8;
		if (n > 2)
			v |= b[i + 2];
		for (size_t k = 0; k <= n; k++)
			four[k] = digits[v >> (18 - 6 * k) & 63];
		nb_buf_bytes(out, four, sizeof(four));
	}
}

/* Returns the value of a base64 digit (0 to 63), or -1. */
static int value_of(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* Decode a group of @n digits (2 to 4) into n - 1 bytes. */
static int group_get(struct nb_buf *out, const char *text, unsigned n)
{
	char bytes[3];
	uint32_t v = 0;

	for (unsigned i = 0; i < 4; i++) {
		int d = i < n ? value_of(text[i]) : 0;

		if (d < 0)
			return -1;
		v = v << 6 | (uint32_t)d;
	}
	if ((n == 2 && (v & 0xffff)) || (n == 3 && (v & 0xff)))
		return -1;
	bytes[0] = (char)(v >> 16);
	bytes[1] = (char)(v >> 8);
	bytes[2] = (char)v;
	nb_buf_bytes(out, bytes, n - 1);
	return 0;
}

int nb_base64_get(struct nb_buf *out, const char *text, size_t size)
{
	if (size % 4)
		return -1;
	for (size_t i = 0; i < size; i += 4) {
		unsigned n = 4;

		if (i + 4 == size && text[i + 3] == '=')
			n = text[i + 2] == '=' ? 2 : 3;
		if (group_get(out, text + i, n))
			return -1;
	}
	return 0;
}
