// SPDX-License-Identifier: MIT
#ifndef NB_EXEC_RUN_BODIES_H
#define NB_EXEC_RUN_BODIES_H

#include <stdint.h>

#include "core/bpf/exec/run/run.h"

/* The functions that implement core/defs/helpers.h: helper_<name>, in any
 * file of this folder, runs row <name>. Private to this folder. */
#define HELPER(id, name, ...) nb_helper_fn helper_##name;
#include "core/defs/helpers.h"

/* The parameters of a helper's function, which may ignore any of them. */
#define NB_UNUSED __attribute__((unused))
#define NB_HELPER_ARGS                                                              \
	NB_UNUSED struct nb_run *run, NB_UNUSED uint64_t r1, NB_UNUSED uint64_t r2, \
		NB_UNUSED uint64_t r3, NB_UNUSED uint64_t r4, NB_UNUSED uint64_t r5

/* Registers hold pointers as numbers, and error numbers are sign-extended. */
static inline void *nb_body_ptr(uint64_t r)
{
	// NOLINTNEXTLINE(performance-no-int-to-ptr)
	return (void *)(uintptr_t)r;
}

static inline uint64_t nb_body_errno(int64_t rc)
{
	return (uint64_t)rc;
}

#endif
