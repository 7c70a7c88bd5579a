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

#endif
