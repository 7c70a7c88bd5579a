// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_WEIGHT_H
#define NB_VERIFY_WEIGHT_H

#include "core/verify/env.h"

/*
 * nb_helper_weight - instructions that the helper called at @pc stands for
 *
 * Besides its own one: what the sizes that @st allows, and the map, can make
 * it do. Of helpers that call back without their turns. After nb_check
 * granted the call.
 */
uint32_t nb_helper_weight(const struct nb_env *env, const struct nb_state *st,
			  uint32_t pc);

#endif
