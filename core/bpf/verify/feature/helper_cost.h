// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_FEATURE_HELPER_COST_H
#define NB_VERIFY_FEATURE_HELPER_COST_H

#include "core/bpf/verify/state/env.h"

/*
 * nb_helper_weight - return the cost of the helper called at @pc in
 * instructions, not counting the call itself
 *
 * The sizes that @st allows and the map determine the cost. The iterations of
 * a helper that calls back are not included. Call it after nb_check accepted
 * the call.
 */
uint32_t nb_helper_weight(const struct nb_program *program, const struct nb_state *st, uint32_t pc);
/* Return the cost of one iteration of the helper that calls back at @pc: a
 * step to the next element visits the elements of its bucket. */
uint32_t nb_iteration_weight(const struct nb_program *program, const struct nb_state *st,
			     uint32_t pc);

#endif
