// SPDX-License-Identifier: MIT
#ifndef NB_EXEC_JIT_SYMBOLS_H
#define NB_EXEC_JIT_SYMBOLS_H

#include "core/base/err.h"
#include "core/exec/run/code.h"
#include "core/image/image.h"

/* Names of machine code for perf and gdb: "policy/program" for an entry,
 * "policy/program/function" for each function that it calls. */

/*
 * nb_symbols_perf - add a program's functions to perf's map of this process
 *
 * perf reads such a map for code without a file: one line "start size name" in
 * hexadecimal for each function, in the folder of temporary files that perf
 * knows. Lines of freed code stay. Returns 0 or NB_E_IO.
 */
int nb_symbols_perf(const struct nb_jit *j, const struct nb_image *img,
		    uint32_t prog, struct nb_err *err);

/* The object file that a debugger was given; private to symbols.c. */
struct nb_symbols;

/*
 * nb_symbols_gdb - register a program with debuggers (gdb's JIT interface)
 *
 * Debuggers get an object file in memory with the functions' names, source
 * lines if the image has them, and unwind information. Attached debuggers stop
 * for a moment. Free *@out before the code. Returns 0 or NB_E_NOMEM. Any
 * thread.
 */
int nb_symbols_gdb(struct nb_symbols **out, const struct nb_jit *j,
		   const struct nb_image *img, uint32_t prog,
		   struct nb_err *err);
/* Unregister and free; @s may be NULL. */
void nb_symbols_free(struct nb_symbols *s);

#endif
