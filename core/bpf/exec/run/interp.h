// SPDX-License-Identifier: MIT
#ifndef NB_EXEC_INTERP_H
#define NB_EXEC_INTERP_H

#include "core/bpf/exec/run/code.h"

/* Interpret a program. nb_exec_run calls this for a program without machine
 * code. */
nb_engine_fn nb_exec_interpret;

/* A function called before the code at @ip runs; @r holds the registers r0
 * to r10. */
typedef void nb_watch_fn(void *arg, const struct nb_code *ip, const uint64_t *r);

/* Interpret @x and call @watch before each code. The effect is the same,
 * but it is slow. */
uint64_t nb_exec_watch(const struct nb_exec *x, void *ctx, uint64_t ctx_size, nb_watch_fn *watch,
		       void *arg);

#endif
