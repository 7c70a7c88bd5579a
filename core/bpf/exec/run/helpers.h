// SPDX-License-Identifier: MIT
#ifndef NB_EXEC_HELPERS_H
#define NB_EXEC_HELPERS_H

#include "core/bpf/exec/run/run.h"

/*
 * Return the function of a helper of core/defs/helpers.h. Returns NULL for
 * other numbers, and for helpers that the engines execute themselves
 * because they call back into the program: bpf_for_each_map_elem, bpf_loop.
 */
enum { NB_HELPER_EACH = 164, NB_HELPER_LOOP = 181, NB_HELPER_ITER_NEW = 0x10001 };
nb_helper_fn *nb_helper_body(int32_t id);

/*
 * nb_helper_stop_clock - let bpf_ktime_get_ns return @ns in this process; 0: the time again
 *
 * For runs outside of a job, whose clock the caller steps. Only while no program runs.
 */
void nb_helper_stop_clock(uint64_t ns);

#endif
