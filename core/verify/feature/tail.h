// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_FEATURE_TAIL_H
#define NB_VERIFY_FEATURE_TAIL_H

#include "core/verify/state/env.h"
#include "core/verify/state/operands.h"

struct at;

/*
 * bpf_tail_call (effect TAIL): another program of the image goes on in place
 * of the function that makes the call.
 */

/* Is this such a call? */
static inline bool nb_is_tail_call(const struct nb_insn *insn)
{
	return nb_insn_effect(insn) == NB_EFFECT_TAIL;
}

/* Beside the arguments: may one be made here? 0, or NB_E_VERIFY. */
int nb_check_tail_call(const struct at *a);

/* The same but for coherence; also for a global function that makes one. */
int nb_check_tail_place(const struct at *a);

/*
 * The other program ran and ended: the function that made the call returns
 * what it returned. The state after that, in the caller; only where there is
 * one.
 */
void nb_tail_return(struct nb_env *env, struct nb_state *st);

#endif
