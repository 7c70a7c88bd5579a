// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_FEATURE_RESOURCES_H
#define NB_VERIFY_FEATURE_RESOURCES_H

#include "core/verify/state/env.h"

struct at;

/*
 * Resources that programs acquire and release by helpers: records of ring
 * buffers, dynptrs, locks. For each there is a check of the argument, and a
 * step that changes the state. Checks return 0, or NB_E_VERIFY with the
 * finding filled.
 */

/* Check argument @arg (0 to 4) of @h, whose kind satisfies nb_is_resource. */
bool nb_is_resource(enum nb_arg kind);
int nb_check_resource(const struct at *a, const struct nb_helper_spec *h,
		      unsigned arg);

/* Is the call allowed with the resources that are held? Call it after the
 * arguments were checked. */
int nb_check_call_held(const struct at *a, const struct nb_helper_spec *h);

/*
 * Check that no resource is held when the program ends or tail-calls
 * (@frame 0). At the end of a callback, check the resources that its frame
 * @frame acquired.
 */
int nb_check_all_returned(const struct at *a, uint32_t frame);

/* Return r0 of a helper that reserves memory, or that returns a slice of a
 * dynptr. */
struct nb_reg nb_step_sample(struct nb_env *env, struct nb_state *st,
			     uint32_t pc, const struct nb_helper_spec *h);
struct nb_reg nb_step_slice(struct nb_env *env, const struct nb_state *st,
			    uint32_t pc, const struct nb_helper_spec *h);

/* Apply the call to references, objects and the lock. Requires r1-r5. */
void nb_step_resources(struct nb_env *env, struct nb_state *st, uint32_t pc,
		       const struct nb_helper_spec *h);

#endif
