// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_REPORT_SOURCE_H
#define NB_VERIFY_REPORT_SOURCE_H

#include "core/bpf/verify/state/env.h"

/* Return the index expression of the access at @pc from its source line;
 * NULL if the line shows none. */
const char *nb_source_index(struct nb_env *env, uint32_t pc);

/* Return the variable whose address is argument @number of the call at @pc:
 * "k" for "bpf_map_lookup_elem(&m, &k)". "" if the line does not say. */
const char *nb_source_argument(struct nb_env *env, uint32_t pc, int number);

/* Return the variable to which @text assigns the call's result: "v" for
 * "struct x *v = bpf_...". "" if the text does not say. */
const char *nb_source_assigned(struct nb_env *env, const char *text);

#endif
