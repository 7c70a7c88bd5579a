// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_ENGINE_EXPLORE_H
#define NB_VERIFY_ENGINE_EXPLORE_H

#include "core/bpf/verify/state/env.h"

/*
 * nb_explore - walk every behaviour of the program from its start, as @how says
 *
 * The walk is depth-first and keeps an explored state at each join. It prunes
 * a path if an explored state subsumes the current one; if an ancestor on the
 * same path equals the current state, the program loops endlessly. Bounded by
 * env->program.opts. Returns 0, NB_E_VERIFY with the finding filled, or NB_E_NOMEM.
 * env->walk then is this walk, until the next one or nb_walk_forget.
 */
int nb_explore(struct nb_env *env, struct nb_walk_how how);

/* Free what the latest walk left outside the arena. */
void nb_walk_forget(struct nb_env *env);

#endif
