// SPDX-License-Identifier: MIT
#ifndef NB_EXEC_JIT_SYMBOLS_H
#define NB_EXEC_JIT_SYMBOLS_H

#include "core/base/err.h"
#include "core/exec/run/code.h"
#include "core/image/image.h"

/* Names of machine code for perf and gdb: "policy/program" for an entry,
 * "policy/program/function" for each function that it calls. */

/*
 * NB_PUBLISH_PERF: a line in perf's map of this process. NB_PUBLISH_GDB: an
 * object file in memory by gdb's JIT interface
 */
enum { NB_PUBLISH_PERF = 1, NB_PUBLISH_GDB = 2 };

/* The object file that a debugger was given; private to symbols.c. */
struct nb_symbols;

/*
 * nb_symbols_publish - name the machine code @j of program @prog
 * @how: NB_PUBLISH_*; @s: the object file for debuggers, NULL before the first
 * call
 *
 * PERF adds the program's functions to perf's map of this process, which perf
 * reads for code without a file: one line "start size name" in hexadecimal for
 * each function, in the folder of temporary files that perf knows. Lines of
 * freed code stay. GDB registers the program with debuggers (gdb's JIT
 * interface). They get an object file in memory with the functions' names,
 * source lines if the image has them, and unwind information. Attached
 * debuggers stop for a moment. Free *@s before the code. Returns 0, NB_E_IO or
 * NB_E_NOMEM. Any thread.
 */
int nb_symbols_publish(struct nb_symbols **s, const struct nb_jit *j,
		       const struct nb_image *img, uint32_t prog, unsigned how,
		       struct nb_err *err);
/* Unregister and free; @s may be NULL. */
void nb_symbols_free(struct nb_symbols *s);

#endif
