// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_INSN_CHECK_H
#define NB_VERIFY_INSN_CHECK_H

#include "core/bpf/verify/state/env.h"

/*
 * nb_check - does @st grant what the instruction at @pc needs?
 *
 * 0, or NB_E_VERIFY with the finding filled. Does not change @st.
 */
int nb_check(struct nb_env *env, const struct nb_state *st, uint32_t pc);

#endif
