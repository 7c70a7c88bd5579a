// SPDX-License-Identifier: MIT
#ifndef NB_EXEC_COMPILE_H
#define NB_EXEC_COMPILE_H

#include "core/base/err.h"
#include "core/bpf/exec/run/exec.h"
#include "core/bpf/image/image.h"

struct nb_jit;

/*
 * nb_exec_compile - make nb_exec_run run machine code from now on
 * @aux: NB_AUX_* for each slot, as the verifier found them; NULL: not known
 *
 * Call it before other threads see @x. Returns 0; NB_E_NOTSUP if there is no
 * compiler for this machine or the system refuses executable memory; or
 * NB_E_NOMEM. After an error nb_exec_run interprets as before.
 */
int nb_exec_compile(struct nb_exec *x, const uint8_t *aux, struct nb_err *err);

/*
 * nb_exec_compile_all - compile @n programs, one or more, whose code shares
 * pages
 *
 * After an error, as of nb_exec_compile, all of them are interpreted as before.
 * Free the programs in one thread.
 */
int nb_exec_compile_all(const struct nb_exec_item *item, uint32_t n, struct nb_err *err);

/*
 * nb_exec_publish - name a compiled program's code for perf
 * @img: the image that @x was bound from, @prog: its number there
 *
 * Does nothing for interpreted programs. Returns 0, NB_E_NOMEM or NB_E_IO; the
 * program runs in any case. Do not call it on a decision path.
 */
int nb_exec_publish(const struct nb_exec *x, const struct nb_image *img, uint32_t prog,
		    struct nb_err *err);

/* Return to the interpreter; call this before other threads see @x. */
void nb_exec_interpret_again(struct nb_exec *x);

/* Return the bytes of machine code; 0 if @x is interpreted. */
size_t nb_exec_compiled(const struct nb_exec *x);

#endif
