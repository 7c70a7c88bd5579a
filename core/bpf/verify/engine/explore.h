// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_ENGINE_EXPLORE_H
#define NB_VERIFY_ENGINE_EXPLORE_H

#include "core/bpf/verify/state/env.h"

/*
 * nb_explore - walk every behaviour of the program from its start
 *
 * The walk is depth-first and keeps an explored state at each join. It prunes
 * a path if an explored state subsumes the current one; if an ancestor on the
 * same path equals the current state, the program loops endlessly. Bounded by
 * env->opts. Returns 0, NB_E_VERIFY with the finding filled, or NB_E_NOMEM.
 */
int nb_explore(struct nb_env *env);

#endif
