// SPDX-License-Identifier: MIT
#ifndef NB_TEST_VERIFY_NEAR_H
#define NB_TEST_VERIFY_NEAR_H

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/*
 * The nearest accepted program stands in the file of the refused one: of a
 * line that says "# near: TEXT" it has TEXT alone, which is another
 * instruction, none, or, where the line is nothing else, one more.
 *
 * Writes it into @to, cut to @size, and returns how many lines differ; a line
 * that says what was there does not count.
 */
static inline unsigned near_twin(char *to, size_t size, const char *text)
{
	static const char mark[] = "# near:";
	unsigned differ = 0;
	size_t n = 0;

	while (*text && n + 1 < size) {
		size_t len = strcspn(text, "\n"), at = 0, from = 0;

		while (at < len && strncmp(text + at, mark, sizeof(mark) - 1))
			at++;
		if (at < len) {
			size_t end = at;

			from = at + sizeof(mark) - 1;
			while (from < len && text[from] == ' ')
				from++;
			while (end && isspace((unsigned char)text[end - 1]))
				end--;
			differ += end != len - from ||
				  strncmp(text, text + from, end) != 0;
		}
		for (; from < len && n + 2 < size; from++)
			to[n++] = text[from];
		to[n++] = '\n';
		text += len + (text[len] == '\n');
	}
	to[n] = '\0';
	return differ;
}

#endif
