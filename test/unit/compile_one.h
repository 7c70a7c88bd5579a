// SPDX-License-Identifier: MIT
#ifndef NB_TEST_UNIT_COMPILE_ONE_H
#define NB_TEST_UNIT_COMPILE_ONE_H

#include <stdbool.h>

#include "core/bpf/exec/jit/jit.h"
#include "core/bpf/exec/jit/machine.h"

/* Compile one program, in pages of its own. */
static inline int compile_one(struct nb_exec *x, const uint8_t *aux, struct nb_err *err)
{
	const struct nb_exec_item item = { x, aux };

	return nb_exec_compile(&item, 1, err);
}

/* Is there a compiler for this machine? */
static inline bool jit_available(void)
{
#ifdef NB_JIT_MACHINE
	return true;
#else
	return false;
#endif
}

#endif
