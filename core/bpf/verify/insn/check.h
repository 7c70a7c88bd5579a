// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_INSN_CHECK_H
#define NB_VERIFY_INSN_CHECK_H

#include "core/bpf/verify/state/operands.h"

/*
 * nb_check - does @st grant what the instruction at @pc needs?
 * @x: the access of a load, store or atomic (nb_access_resolve)
 *
 * 0, or NB_E_VERIFY with the finding filled. Does not change @st.
 */
int nb_check(struct nb_env *env, const struct nb_state *st, uint32_t pc,
	     const struct nb_mem_access *x);

#endif
