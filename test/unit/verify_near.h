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
			differ += end != len - from || strncmp(text, text + from, end) != 0;
		}
		for (; from < len && n + 2 < size; from++)
			to[n++] = text[from];
		to[n++] = '\n';
		text += len + (text[len] == '\n');
	}
	to[n] = '\0';
	return differ;
}

/* The accepted program of a case: @text itself or, of a refused one, its twin in @to. */
static inline const char *accepted_program(char *to, size_t size, const char *text)
{
	if (!strstr(text, "# expect: reject"))
		return text;
	near_twin(to, size, text);
	return to;
}

/*
 * The same of a policy in C: lines "// near: OLD => NEW" say what is to be put
 * in place of what below them. Writes the twin into @to, cut to @size; how
 * many such lines there are, at most 3 of which count.
 */
static inline unsigned near_policy(char *to, size_t size, const char *text)
{
	static const char mark[] = "\n// near: ", by[] = " => ";
	struct {
		const char *old, *new;
		size_t nold, nnew;
	} swap[3];
	unsigned k = 0;
	size_t n = 0;

	for (const char *at = text; k < 3 && (at = strstr(at, mark));) {
		const char *old = at + sizeof(mark) - 1;
		const char *new = strstr(old, by);

		at = strchr(old, '\n');
		if (!new || !at || new > at)
			break;
		swap[k].old = old;
		swap[k].nold = (size_t)(new - old);
		swap[k].new = new + sizeof(by) - 1;
		swap[k].nnew = (size_t)(at - swap[k].new);
		k++;
		text = at;
	}
	while (*text && n + 256 < size) {
		unsigned i = 0;

		while (i < k && strncmp(text, swap[i].old, swap[i].nold))
			i++;
		if (i == k) {
			to[n++] = *text++;
			continue;
		}
		memcpy(to + n, swap[i].new, swap[i].nnew);
		n += swap[i].nnew;
		text += swap[i].nold;
	}
	to[n] = '\0';
	return k;
}

#endif
