// SPDX-License-Identifier: MIT
#ifndef NB_EXEC_FACTS_H
#define NB_EXEC_FACTS_H

#include "core/bpf/exec/jit/emit.h"

/*
 * nb_jit_analyse - fill in @c's facts, needs, callbacks and number of calls
 * @aux: NB_AUX_* by slot, see nb_exec_compile
 *
 * Call it once, before any code is emitted. Returns 0, or NB_E_NOTSUP if the
 * program cannot be compiled.
 */
int nb_jit_analyse(struct nb_jit_ctx *c, const uint8_t *aux, struct nb_err *err);

#endif
