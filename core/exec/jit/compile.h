// SPDX-License-Identifier: MIT
#ifndef NB_EXEC_COMPILE_H
#define NB_EXEC_COMPILE_H

#include "core/base/err.h"
#include "core/exec/run/exec.h"
#include "core/image/image.h"

struct nb_jit;

/*
 * nb_exec_compile - make nb_exec_run run machine code from now on
 * @aux: NB_AUX_* for each slot, as the verifier found them; NULL: not known
 *
 * Before other threads see @x. 0, NB_E_NOTSUP (no compiler for this machine,
 * or the system refuses executable memory), NB_E_NOMEM: then nb_exec_run
 * interprets as before.
 */
int nb_exec_compile(struct nb_exec *x, const uint8_t *aux, struct nb_err *err);

/* Run @jit from now on, which @x takes. Before other threads see @x. */
void nb_exec_set_code(struct nb_exec *x, struct nb_jit *jit);

/*
 * nb_exec_publish - let tools outside name a compiled program's code
 * @img: the image that @x was bound from, @prog: its number there
 * @how: NB_PUBLISH_PERF: a line in perf's map of this process; _GDB: an object
 *       file in memory by gdb's JIT interface
 *
 * Does nothing for interpreted programs. 0, NB_E_NOMEM, NB_E_IO; the program
 * runs all the same. Not for a decision path.
 */
enum { NB_PUBLISH_PERF = 1, NB_PUBLISH_GDB = 2 };
int nb_exec_publish(struct nb_exec *x, const struct nb_image *img,
		    uint32_t prog, unsigned how, struct nb_err *err);

/* Return to the interpreter; before other threads see @x. */
void nb_exec_interpret_again(struct nb_exec *x);

/* Bytes of machine code; 0: interpreted. */
size_t nb_exec_compiled(const struct nb_exec *x);

#endif
