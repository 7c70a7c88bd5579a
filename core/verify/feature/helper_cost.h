// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_FEATURE_HELPER_COST_H
#define NB_VERIFY_FEATURE_HELPER_COST_H

#include "core/verify/state/env.h"

/*
 * nb_helper_weight - instructions that the helper called at @pc stands for
 *
 * Besides its own one: what the sizes that @st allows, and the map, can make
 * it do. Of helpers that call back without their turns. After nb_check
 * granted the call.
 */
uint32_t nb_helper_weight(const struct nb_env *env, const struct nb_state *st,
			  uint32_t pc);
/* The same of one turn of the helper that calls back at @pc: a step to the next
 * element looks at those of its bucket. */
uint32_t nb_turn_weight(const struct nb_env *env, const struct nb_state *st,
			uint32_t pc);

#endif
