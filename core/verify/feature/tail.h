// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_FEATURE_TAIL_H
#define NB_VERIFY_FEATURE_TAIL_H

#include "core/verify/state/env.h"
#include "core/verify/state/operands.h"

struct at;

/* bpf_tail_call (effect TAIL): another program of the image runs in place
 * of the function that makes the call. */

/* Is this instruction a tail call? */
static inline bool nb_is_tail_call(const struct nb_insn *insn)
{
	return nb_insn_effect(insn) == NB_EFFECT_TAIL;
}

/* Check whether a tail call is allowed here, apart from its arguments: 0,
 * or NB_E_VERIFY. */
int nb_check_tail_call(const struct at *a);

/* Make the same checks except those for coherence; also for a call of a
 * global function that makes tail calls. */
int nb_check_tail_place(const struct at *a);

/* Step to the state after the target ended: the function that made the tail
 * call returns the target's result to its caller. Requires a caller. */
void nb_tail_return(struct nb_env *env, struct nb_state *st, uint32_t pc);

#endif
