// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_ENGINE_LIMITS_H
#define NB_VERIFY_ENGINE_LIMITS_H

#include "core/bpf/verify/engine/walk.h"

/* Return how many instructions the walk may do; other work counts as
 * instructions. */
uint32_t nb_walk_allowance(const struct nb_env *env);
/* Has the walk used up its allowance? */
bool nb_walk_is_over(const struct nb_walk *w);
/* Add the walk's work and states to the verdict's statistics, unless it is a
 * replay. The verification and the policy are charged by them. */
void nb_walk_spend(const struct nb_walk *w);

/* Add the instructions of the current path to those of the branch where it
 * left an earlier path. */
void nb_branch_charge(struct nb_walk *w);
/* Report that memory for states ran out: NB_E_VERIFY with the finding, or
 * NB_E_NOMEM if malloc failed. */
int nb_over_memory(struct nb_walk *w);
int nb_over_steps(struct nb_walk *w);
int nb_over_paths(struct nb_walk *w);

#endif
