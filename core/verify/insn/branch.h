// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_INSN_BRANCH_H
#define NB_VERIFY_INSN_BRANCH_H

#include "core/verify/state/env.h"

/* A conditional jump, taken or not; false: that cannot happen. */
bool nb_step_branch(struct nb_env *env, struct nb_state *st, uint32_t pc,
		    bool taken);

/*
 * Do the ranges of two scalars decide the jump? *@taken is its outcome, and the
 * state needs no change. false: not known.
 */
bool nb_step_branch_known(const struct nb_env *env, const struct nb_state *st,
			  uint32_t pc, bool *taken);

/* Does this jump compare anything but two numbers? */
bool nb_step_branch_pointers(const struct nb_env *env,
			     const struct nb_state *st, uint32_t pc);

/* Does this jump depend on local data? *@from: the slot it came from. */
bool nb_step_branch_local(struct nb_env *env, const struct nb_state *st,
			  uint32_t pc, uint32_t *from);

#endif
