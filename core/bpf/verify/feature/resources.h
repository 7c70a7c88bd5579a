// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_FEATURE_RESOURCES_H
#define NB_VERIFY_FEATURE_RESOURCES_H

#include "core/bpf/verify/state/operands.h"

struct at;

/*
 * Resources that programs acquire and release by helpers: records of ring
 * buffers. There is a check of each argument, and a step that changes the
 * state. Checks return 0, or NB_E_VERIFY with the finding filled.
 */

/* Check register @number of the called helper; 0 if that argument is no
 * resource. */
int nb_check_resource(const struct at *a, int number);

/* Is the call allowed with the resources that are held? Call it before the
 * arguments are checked. */
int nb_check_call_held(const struct at *a);
/* Check that there is room for one more reference. */
int nb_check_room(const struct at *a);

/*
 * Check that no resource is held when the program ends (@frame 0). At the end
 * of a callback, check the resources that its frame
 * @frame acquired.
 */
int nb_check_all_returned(const struct at *a, uint32_t frame);

/* Check that register @number does not point to released memory: 0, or the
 * finding that names the release. */
int nb_check_ended(const struct at *a, int number);
/* Check that no object forbids access @x to the stack. @store false: a load or a
 * helper. */
int nb_check_objects(const struct at *a, const struct nb_mem_access *x, bool store);

/* Return r0 of a helper that reserves memory. */
struct nb_reg nb_step_sample(struct nb_env *env, struct nb_state *st, uint32_t pc,
			     const struct nb_helper_spec *h);

/* Apply the call to references. Requires r1-r5. */
void nb_step_resources(struct nb_env *env, struct nb_state *st, uint32_t pc,
		       const struct nb_helper_spec *h);

#endif
