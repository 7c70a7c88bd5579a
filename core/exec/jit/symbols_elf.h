// SPDX-License-Identifier: MIT
#ifndef NB_EXEC_SYMBOLS_ELF_H
#define NB_EXEC_SYMBOLS_ELF_H

#include "core/base/buf.h"
#include "core/exec/run/code.h"
#include "core/image/image.h"

/* Where function @f of a program begins and ends, counted from the code's
 * start. The set-up code of the entry belongs to function 0. */
struct nb_extent {
	uint32_t start, end;
};
struct nb_extent nb_extent_of(const struct nb_jit *j, const struct nb_prog *p,
			      uint32_t f);

/* Append the name of function @f to @b: "policy/program" or
 * "policy/program/function". */
void nb_extent_name(struct nb_buf *b, const struct nb_image *img, uint32_t prog,
		    uint32_t f);

/* Write the object file for debuggers: names, lines and unwind information
 * of @j. */
void nb_symbols_elf(struct nb_buf *out, const struct nb_jit *j,
		    const struct nb_image *img, uint32_t prog);

#endif
