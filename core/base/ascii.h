// SPDX-License-Identifier: MIT
#ifndef NB_BASE_ASCII_H
#define NB_BASE_ASCII_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Letters, digits and numbers as the C locale has them, whatever locale the
 * process has: an application that loads the plugin may call setlocale. This
 * is the only file that may call a function that depends on it
 * (`make lint-locale`).
 */

static inline bool nb_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static inline char nb_lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* Are the texts equal, apart from the case of ASCII letters? */
bool nb_same_word(const char *a, const char *b);

/* The same for the first @n bytes, or up to the end of both. */
bool nb_same_words(const char *a, const char *b, size_t n);

enum { NB_F64_TEXT = 40 };

/*
 * nb_f64_text - write a finite number with up to 9 significant digits
 *
 * The result is a number of JSON and of C. Returns its length.
 */
size_t nb_f64_text(char text[NB_F64_TEXT], double v);

#endif
