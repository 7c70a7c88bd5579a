// SPDX-License-Identifier: MIT
/* Errors as values: a code, a position and one complete sentence. These
 * functions print nothing; the owner of the struct does. */
#include "core/base/err.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

static const struct {
	int code;
	const char *word;
	int status;
} rows[] = {
#define ERR(name, number, word, status, text) { -(number), word, status },
#include "core/defs/errors.h"
};

#define NROWS (sizeof(rows) / sizeof(rows[0]))

int nb_fail(struct nb_err *err, int code, uint32_t at, const char *fmt, ...)
{
	va_list ap;

	if (!err)
		return code;
	err->code = code;
	err->at = at;
	err->hint[0] = '\0';
	va_start(ap, fmt);
	vsnprintf(err->text, sizeof(err->text), fmt, ap);
	va_end(ap);
	return code;
}

int nb_hint(struct nb_err *err, const char *fmt, ...)
{
	va_list ap;

	if (!err)
		return 0;
	va_start(ap, fmt);
	vsnprintf(err->hint, sizeof(err->hint), fmt, ap);
	va_end(ap);
	return err->code;
}

static size_t err_row(int code)
{
	size_t i;

	for (i = 0; i < NROWS; i++)
		if (rows[i].code == code)
			break;
	return i;
}

const char *nb_err_word(int code)
{
	size_t i = err_row(code);

	return i < NROWS ? rows[i].word : "unknown";
}

int nb_err_status(int code)
{
	size_t i = err_row(code);

	if (!code)
		return 0;
	return i < NROWS ? rows[i].status : 70;
}
