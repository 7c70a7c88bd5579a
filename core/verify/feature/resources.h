// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_FEATURE_RESOURCES_H
#define NB_VERIFY_FEATURE_RESOURCES_H

#include "core/verify/state/env.h"

struct at;

/*
 * What programs take and give back by helpers: records of ring buffers,
 * dynptrs, locks. The check of one argument of such a kind, and what the call
 * changes. Checks: 0, or NB_E_VERIFY with the finding filled.
 */

/* Argument @arg (0 to 4) of @h, of a kind that nb_is_resource says yes to. */
bool nb_is_resource(enum nb_arg kind);
int nb_check_resource(const struct at *a, const struct nb_helper_spec *h,
		      unsigned arg);

/* May this call be made at all with what is held? After the arguments. */
int nb_check_call_held(const struct at *a, const struct nb_helper_spec *h);

/*
 * Nothing may be held when the program ends or goes on in another one
 * (@frame 0), and nothing that it took itself when a callback ends (its
 * frame).
 */
int nb_check_all_returned(const struct at *a, uint32_t frame);

/* r0 of a helper that reserves, or that gives a part of a dynptr. */
struct nb_reg nb_step_sample(struct nb_env *env, struct nb_state *st,
			     uint32_t pc, const struct nb_helper_spec *h);
struct nb_reg nb_step_slice(struct nb_env *env, const struct nb_state *st,
			    uint32_t pc, const struct nb_helper_spec *h);

/* What the call does to references, objects and the lock. Requires r1-r5. */
void nb_step_resources(struct nb_env *env, struct nb_state *st, uint32_t pc,
		       const struct nb_helper_spec *h);

#endif
