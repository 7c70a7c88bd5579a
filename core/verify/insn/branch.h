// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_INSN_BRANCH_H
#define NB_VERIFY_INSN_BRANCH_H

#include "core/verify/state/env.h"

/* A conditional jump, taken or not; false: no member behaves so. */
bool nb_step_branch(struct nb_env *env, struct nb_state *st, uint32_t pc,
		    bool taken);

/*
 * Is a jump decided by numbers already? *@taken says how. Then the state
 * needs no change; false means nothing.
 */
bool nb_step_branch_known(const struct nb_env *env, const struct nb_state *st,
			  uint32_t pc, bool *taken);

/* Does this jump compare anything but two numbers? */
bool nb_step_branch_pointers(const struct nb_env *env,
			     const struct nb_state *st, uint32_t pc);

/* Does this jump look at local data? *@from: where that came from. */
bool nb_step_branch_local(struct nb_env *env, const struct nb_state *st,
			  uint32_t pc, uint32_t *from);

#endif
