// SPDX-License-Identifier: MIT
#ifndef NB_TEST_CASE_TEXT_H
#define NB_TEST_CASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * What programs of the corpus have in common, by name. A line whose first word
 * is one of these stands for its instructions, where $1 to $3 are the line's
 * operands:
 *
 *   repeat N FROM STEP   the lines up to "end", N times: $ is FROM, FROM + STEP
 *                        and so on, $< the number of the time before
 *
 * A label "cb" that is named and that no line has is a callback that returns 0, and such
 * an "out" ends the program with r0 = 0; both follow the text.
 */
static const struct {
	const char *name, *text;
} case_words[] = {
	/* r0: the element of map $1 whose key is at r10 - 4; $2, or 0 */
	{ "look", "mov %r2, %r10\nadd %r2, -4\nlddw map %r1, $1\ncall 1\n" },
	{ "lookup", "stw [%r10-4], $2\nlook $1\n" },
	{ "find", "stw [%r10-4], $2\nlook $1\njeq %r0, 0, out\n" },
	/* r0: the byte at place $2 of map $1 moved by $3 */
	{ "read_at", "lddw map_value %r4, $1, $2\nadd %r4, $3\nldxb %r0, [%r4]\n" },
	/* a record of $1 bytes; give it back */
	{ "reserve", "lddw map %r1, @ring\nmov %r2, $1\nmov %r3, 0\ncall 131\n" },
	{ "submit", "mov %r1, $1\nmov %r2, 0\ncall 132\n" },
	{ "discard", "mov %r1, $1\nmov %r2, 0\ncall 133\n" },
	/* an iterator at r10 + $1 that counts from $2 to $3, or to r3 */
	{ "iter_new", "mov %r1, %r10\nadd %r1, $1\nmov %r2, $2\nmov %r3, $3\ncall 0x10001\n" },
	{ "iter_over", "mov %r1, %r10\nadd %r1, $1\nmov %r2, $2\ncall 0x10001\n" },
	{ "iter_next", "mov %r1, %r10\nadd %r1, $1\ncall 0x10002\n" },
	{ "iter_end", "mov %r1, %r10\nadd %r1, $1\ncall 0x10003\n" },
	/* r1 calls of $1, or one for each element of the map in r1; with r10 + $2 */
	{ "bpf_loop", "lddw func %r2, $1\nmov %r3, 0\nmov %r4, 0\ncall 181\n" },
	{ "bpf_loop_on", "lddw func %r2, $1\nmov %r3, %r10\nadd %r3, $2\nmov %r4, 0\ncall 181\n" },
	{ "for_each", "lddw func %r2, $1\nmov %r3, 0\nmov %r4, 0\ncall 164\n" },
	{ "for_each_on", "lddw func %r2, $1\nmov %r3, %r10\nadd %r3, $2\nmov %r4, 0\ncall 164\n" },
};

/* @text up to @end goes to @to at @n with $1 to $3, or with $ and $< of a repeat. */
static inline size_t case_fill(char *to, size_t size, size_t n, const char *text, const char *end,
			       char opnd[3][64], const long count[2])
{
	for (; text < end && n + 64 < size; text++) {
		if (*text != '$')
			to[n++] = *text;
		else if (opnd && text[1] >= '1' && text[1] <= '3')
			n += (size_t)snprintf(to + n, 64, "%s", opnd[*++text - '1']);
		else if (text[1] == '<')
			n += (size_t)snprintf(to + n, 64, "%ld", count[1]), text++;
		else
			n += (size_t)snprintf(to + n, 64, "%ld", count[0]);
	}
	return n;
}

/* The lines of repeats, with their numbers. */
static inline void case_repeats(char *to, size_t size, const char *text)
{
	size_t n = 0;
	long times, from, step;

	while (*text && n + 1 < size) {
		size_t len = strcspn(text, "\n");
		const char *body = text + len + 1, *end;

		len += text[len] == '\n';
		if (sscanf(text, "repeat %ld %ld %ld", &times, &from, &step) != 3 ||
		    !(end = strstr(body, "\nend\n"))) {
			n += (size_t)snprintf(to + n, size - n, "%.*s", (int)len, text);
			text += len;
			continue;
		}
		for (long i = 0; i < times; i++, from += step)
			n = case_fill(to, size, n, body, end + 1, NULL,
				      (long[]){ from, from - step });
		text = end + 5;
	}
	to[n < size ? n : size - 1] = '\0';
}

static inline size_t case_line(char *to, size_t size, size_t n, const char *line, size_t len)
{
	size_t word = strcspn(line, " \n");
	char opnd[3][64] = { "", "0", "" }, text[512];

	for (size_t i = 0; i < sizeof(case_words) / sizeof(case_words[0]); i++) {
		if (strlen(case_words[i].name) != word ||
		    strncmp(line, case_words[i].name, word) != 0)
			continue;
		sscanf(line + word, " %63[^,\n#], %63[^,\n#], %63[^,\n#]", opnd[0], opnd[1],
		       opnd[2]);
		for (int k = 0; k < 3; k++)
			opnd[k][strcspn(opnd[k], " ")] = '\0';
		text[case_fill(text, sizeof(text), 0, case_words[i].text,
			       case_words[i].text + strlen(case_words[i].text), opnd, NULL)] = '\0';
		/* a word may be made of others */
		for (char *at = text; *at; at += strcspn(at, "\n") + 1)
			n = case_line(to, size, n, at, strcspn(at, "\n"));
		return n;
	}
	len = strcspn(line, "#\n") < len ? strcspn(line, "#\n") : len;
	return n + (size_t)snprintf(to + n, size - n, "%.*s\n", (int)len, line);
}

/* True if a jump or call in @text names @label, and no line of @text defines it. */
static inline bool case_wants(const char *text, const char *label)
{
	size_t len = strlen(label);
	bool named = false;

	for (const char *at = text; (at = strstr(at, label)); at += len) {
		bool first = at == text || at[-1] == '\n', last = at > text && at[-1] == ' ';

		if (first && at[len] == ':')
			return false;
		named |= last && (at[len] == '\n' || at[len] == ' ');
	}
	return named;
}

/* The program of a case: @text without comments and with all of its words spelled out. */
static inline void case_text(char *to, size_t size, const char *text)
{
	static const char *const ends[] = { "cb", "out" };
	static char once[64 << 10];
	size_t n = 0;

	case_repeats(once, sizeof(once), text);
	for (const char *at = once; *at && n + 1024 < size;) {
		size_t len = strcspn(at, "\n");

		n = case_line(to, size, n, at, len);
		at += len + (at[len] == '\n');
	}
	to[n] = '\0';
	for (int i = 0; i < 2; i++)
		if (case_wants(to, ends[i]))
			n += (size_t)snprintf(to + n, size - n, "%s:\nmov %%r0, 0\nexit\n",
					      ends[i]);
}

#endif
