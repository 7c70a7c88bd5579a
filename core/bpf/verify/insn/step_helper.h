// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_INSN_STEP_HELPER_H
#define NB_VERIFY_INSN_STEP_HELPER_H

#include "core/bpf/verify/state/env.h"

/* Step the call of a helper at @pc, except for iterators. Requires nb_check. */
void nb_step_helper(struct nb_env *env, struct nb_state *st, uint32_t pc);

#endif
