// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_ENGINE_EXPLORE_H
#define NB_VERIFY_ENGINE_EXPLORE_H

#include "core/verify/state/env.h"

/*
 * nb_explore - walk every behaviour of the program from its start
 *
 * Depth-first, with a stored state wherever ways join; a state that a
 * finished one covers is not walked again, a state equal to one on its own
 * way is an endless loop. 0, or NB_E_VERIFY with the finding filled, or
 * NB_E_NOMEM. Bounded by env->opts.
 */
int nb_explore(struct nb_env *env);

#endif
