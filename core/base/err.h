// SPDX-License-Identifier: MIT
#ifndef NB_BASE_ERR_H
#define NB_BASE_ERR_H

#include <stdint.h>

/* Negative error numbers; the rows are in core/defs/errors.h. */
enum nb_errno {
	NB_OK = 0,
#define ERR(name, number, word, status, text) NB_E_##name = -(number),
#include "core/defs/errors.h"
};

/*
 * An error. The function that finds it writes the complete text: object,
 * place, value found, values allowed. The caller owns it. Functions that take
 * one accept NULL and leave it unchanged on success.
 *
 * @code: NB_E_*
 * @at:   instruction index, file offset or argument number; 0 if neither
 * @text: one line, NUL-terminated, without a newline at its end
 * @hint: one line of advice, or empty
 */
struct nb_err {
	int code;
	uint32_t at;
	char text[400];
	char hint[200];
};

/* Fill @err (may be NULL) and return @code. The hint is emptied. */
int nb_fail(struct nb_err *err, int code, uint32_t at, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* Add advice to an error that nb_fail has filled; returns err->code, or 0. */
int nb_hint(struct nb_err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Return the stable word of NB_E_* @code ("bad_elf"); "unknown" for other
 * numbers. */
const char *nb_err_word(int code);

/* Return the shell's exit status for @code: 0 for 0, 70 for unknown codes. */
int nb_err_status(int code);

#endif
