// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_REPORT_SOURCE_H
#define NB_VERIFY_REPORT_SOURCE_H

#include "core/verify/state/env.h"

/* The index of the access at @pc as its line has it; NULL: it has none. */
const char *nb_source_index(struct nb_env *env, uint32_t pc);

/* "k" of "bpf_map_lookup_elem(&m, &k)": the variable whose address is
 * argument @number of the call at @pc; "": the line does not say so. */
const char *nb_source_argument(struct nb_env *env, uint32_t pc, int number);

/* "v" of "struct x *v = bpf_...": what @text assigns the call's result to;
 * "": it does not say so. */
const char *nb_source_assigned(struct nb_env *env, const char *text);

#endif
