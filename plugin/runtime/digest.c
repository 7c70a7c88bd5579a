// SPDX-License-Identifier: MIT
#include "plugin/runtime/digest.h"

#include <string.h>

#include "core/base/ascii.h"

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = nb_lower(c);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

int nb_digest_parse(uint8_t digest[NB_SHA256_SIZE], const char *text, struct nb_err *err)
{
	uint8_t out[NB_SHA256_SIZE];

	for (size_t i = 0; i < NB_SHA256_SIZE; i++) {
		int hi = text[2 * i] ? hex_digit(text[2 * i]) : -1;
		int lo = hi >= 0 ? hex_digit(text[2 * i + 1]) : -1;

		if (lo < 0)
			return nb_fail(err, NB_E_ARG, 0,
				       "%.80s: a digest has %d hexadecimal digits", text,
				       2 * NB_SHA256_SIZE);
		out[i] = (uint8_t)(hi << 4 | lo);
	}
	if (text[(size_t)2 * NB_SHA256_SIZE])
		return nb_fail(err, NB_E_ARG, 0, "%.80s: a digest has %d hexadecimal digits", text,
			       2 * NB_SHA256_SIZE);
	memcpy(digest, out, sizeof(out));
	return 0;
}
