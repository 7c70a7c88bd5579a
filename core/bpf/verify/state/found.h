// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_STATE_FOUND_H
#define NB_VERIFY_STATE_FOUND_H

#include "core/bpf/verify/state/env.h"

/* Empty @f, which is all zero or that of an earlier walk, whose tables it then keeps.
 * Call it after nb_cfg_build. Returns false if out of memory. */
bool nb_found_new(const struct nb_program *program, struct nb_found *f);

/* Add env->walk.found to the facts, after a walk that accepts. */
void nb_found_keep(struct nb_env *env);

/* Record that the call at @pc calls back the function at @start. */
void nb_callee_note(struct nb_env *env, uint32_t pc, uint32_t start);

#endif
