// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_ENGINE_EXPLORE_H
#define NB_VERIFY_ENGINE_EXPLORE_H

#include "core/verify/state/env.h"

/*
 * nb_explore - walk every behaviour of the program from its start
 *
 * Depth-first, with an explored state at each join. A path is pruned where an
 * explored state subsumes it; an ancestor equal to the current state is an
 * endless loop. 0, or NB_E_VERIFY with the finding filled, or NB_E_NOMEM.
 * Bounded by env->opts.
 */
int nb_explore(struct nb_env *env);

#endif
