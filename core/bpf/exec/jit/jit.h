// SPDX-License-Identifier: MIT
#ifndef NB_EXEC_JIT_JIT_H
#define NB_EXEC_JIT_JIT_H

#include "core/base/err.h"
#include "core/bpf/exec/run/exec.h"
#include "core/bpf/image/image.h"

/*
 * A program to compile.
 * @x:   its maps' addresses go into the code
 * @aux: NB_AUX_* for each slot, as nb_verify found them; NULL: not known. Wrong
 *       facts make wrong code.
 */
struct nb_exec_item {
	struct nb_exec *x;
	const uint8_t *aux;
};

/*
 * nb_exec_compile - make nb_exec_run run machine code from now on, in @n
 * programs, one or more, whose code shares pages
 *
 * Call it before other threads see the programs, and free them in one thread.
 * The code behaves like the interpreter for programs that nb_verify accepts.
 * Registers that the program never set, and r1 to r5 after a call, may differ.
 * Returns 0, NB_E_NOMEM or NB_E_NOTSUP. NB_E_NOTSUP means that there is no
 * compiler for this machine, that the system refuses executable memory, or
 * that a program writes r10 or takes more than NB_JIT_MAX_CODE. After an error
 * all of them are interpreted as before.
 */
int nb_exec_compile(const struct nb_exec_item *item, uint32_t n, struct nb_err *err);

/*
 * nb_exec_publish - name a compiled program's code for perf
 * @img: the image that @x was bound from, @prog: its number there
 *
 * Does nothing for interpreted programs. Returns 0, NB_E_NOMEM or NB_E_IO; the
 * program runs in any case. Do not call it on a decision path.
 */
int nb_exec_publish(const struct nb_exec *x, const struct nb_image *img, uint32_t prog,
		    struct nb_err *err);

/* Return the bytes of machine code; 0 if @x is interpreted. */
size_t nb_exec_compiled(const struct nb_exec *x);

#endif
