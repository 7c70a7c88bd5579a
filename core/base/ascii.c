// SPDX-License-Identifier: MIT
/* Words and numbers that do not depend on the locale of the process. */
#include "core/base/ascii.h"

#include <stdint.h>
#include <stdio.h>

bool nb_same_words(const char *a, const char *b, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (nb_lower(a[i]) != nb_lower(b[i]))
			return false;
		if (!a[i])
			return true;
	}
	return true;
}

bool nb_same_word(const char *a, const char *b)
{
	return nb_same_words(a, b, SIZE_MAX);
}

/* Can @c be in a number, apart from its decimal sign? */
static bool is_number_part(char c)
{
	return nb_is_digit(c) || c == '-' || c == '+' || c == 'e';
}

size_t nb_f64_text(char text[NB_F64_TEXT], double v)
{
	char local[NB_F64_TEXT];
	size_t n = 0;

	/* the decimal sign of a locale may be of several bytes */
	snprintf(local, sizeof(local), "%.9g", v);
	for (const char *p = local; *p; p++)
		if (is_number_part(*p))
			text[n++] = *p;
		else if (n && text[n - 1] != '.')
			text[n++] = '.';
	text[n] = '\0';
	return n;
}
