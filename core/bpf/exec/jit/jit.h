// SPDX-License-Identifier: MIT
#ifndef NB_EXEC_JIT_JIT_H
#define NB_EXEC_JIT_JIT_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/bpf/exec/jit/emit.h"
#include "core/bpf/exec/run/exec.h"

/*
 * nb_jit_compile - machine code of a bound program
 * @x:   borrowed; its maps' addresses go into the code, so it must outlive it
 * @aux: NB_AUX_* for each slot as nb_verify found them; NULL: nothing is
 *         known. Wrong facts make wrong code.
 *
 * The code behaves like the interpreter for programs that nb_verify accepts.
 * Registers that the program never set, and r1 to r5 after a call, may differ.
 * Returns 0, NB_E_NOMEM or NB_E_NOTSUP. NB_E_NOTSUP means that there is no
 * compiler for this machine, that the system refuses executable memory, or
 * that the program writes r10 or takes more than NB_JIT_MAX_CODE.
 * nb_exec_compile is the same for callers outside this folder. Any thread.
 */
int nb_jit_compile(struct nb_jit **out, const struct nb_exec *x, const uint8_t *aux,
		   struct nb_err *err);
void nb_jit_free(struct nb_jit *j); /* Free the machine code; @j may be NULL. */

/*
 * nb_jit_compile_all - compile @n programs one after another in the same pages
 * @out: @n pointers
 *
 * Returns the errors of nb_jit_compile; after an error nothing is compiled.
 */
int nb_jit_compile_all(struct nb_jit **out, const struct nb_exec_item *item, uint32_t n,
		       struct nb_err *err);

/* Is there a compiler for this machine? */
bool nb_jit_available(void);
/* Return the features of this processor that the compiler can use, as bits. */
unsigned nb_jit_features(void);

/* Like nb_jit_compile, with a subset of the processor's features (for
 * tests). */
int nb_jit_compile_for(struct nb_jit **out, const struct nb_exec *x, const uint8_t *aux,
		       unsigned features, struct nb_err *err);

#endif
