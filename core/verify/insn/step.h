// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_INSN_STEP_H
#define NB_VERIFY_INSN_STEP_H

#include "core/verify/state/env.h"

/*
 * What instructions change. All of these require that nb_check granted the
 * instruction at @pc; then the state after holds every concrete outcome.
 */

/* The first state of what env->root names: r1 the context, or the arguments
 * of a global function; r10 the frame pointer. */
void nb_step_init(struct nb_env *env, struct nb_state *st);

/* May a pointer stand where the helper wants any number? Not where the walk
 * relies on the number. */
bool nb_takes_address(const struct nb_helper_spec *h);
/* Before the helper at @pc is called: such pointers are numbers. */
void nb_step_addresses(struct nb_env *env, struct nb_state *st, uint32_t pc);

/* Anything but jumps, local calls and exit. */
void nb_step(struct nb_env *env, struct nb_state *st, uint32_t pc);

#endif
