// SPDX-License-Identifier: MIT
#ifndef NB_EXEC_JIT_SYMBOLS_H
#define NB_EXEC_JIT_SYMBOLS_H

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/exec/run/code.h"
#include "core/image/image.h"

/*
 * Names for machine code, for perf and gdb: "policy/program" for an entry,
 * "policy/program/function" for what it calls.
 */

/*
 * nb_symbols_perf - add a program's functions to the map of this process
 *
 * perf reads such a map where code has no file: one line a function, "start
 * size name" in hexadecimal, in the folder of temporary files that perf
 * knows. Lines of code that is gone stay. 0, NB_E_IO.
 */
int nb_symbols_perf(const struct nb_jit *j, const struct nb_image *img,
		    uint32_t prog, struct nb_err *err);

/* What a debugger was told of; private to symbols.c. */
struct nb_symbols;

/*
 * nb_symbols_gdb - tell debuggers (gdb's JIT interface)
 *
 * They get an object file in memory with the functions' names, source lines
 * where the image has them, and how to unwind. Attached debuggers stop for a
 * moment. *@out is freed before the code is. 0, NB_E_NOMEM. Any thread.
 */
int nb_symbols_gdb(struct nb_symbols **out, const struct nb_jit *j,
		   const struct nb_image *img, uint32_t prog,
		   struct nb_err *err);
void nb_symbols_free(struct nb_symbols *s); /* NULL is fine */

/* Where function @f of a program begins and ends, from the code's start: the
 * set-up of the entry belongs to function 0. */
struct nb_extent {
	uint32_t start, end;
};
struct nb_extent nb_symbols_extent(const struct nb_jit *j,
				   const struct nb_prog *p, uint32_t f);

/* The name of function @f to @b. */
void nb_symbols_name(struct nb_buf *b, const struct nb_image *img,
		     uint32_t prog, uint32_t f);

#endif
