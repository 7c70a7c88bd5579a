// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_INSN_BRANCH_H
#define NB_VERIFY_INSN_BRANCH_H

#include "core/bpf/verify/state/env.h"

/* Step a conditional jump with outcome @taken; returns false if that
 * outcome is impossible. */
bool nb_step_branch(struct nb_env *env, struct nb_state *st, uint32_t pc, bool taken);

/* Do the ranges of two scalars decide the jump? *@taken is its outcome, and
 * the state needs no change. Returns false if both outcomes are possible. */
bool nb_step_branch_known(const struct nb_program *program, const struct nb_state *st, uint32_t pc,
			  bool *taken);

/* Does this jump compare a pointer? */
bool nb_step_branch_pointers(const struct nb_program *program, const struct nb_state *st,
			     uint32_t pc);

/* Does this jump depend on rank-local data? *@from is the slot that read
 * the data. */
bool nb_step_branch_local(struct nb_env *env, const struct nb_state *st, uint32_t pc,
			  uint32_t *from);

#endif
