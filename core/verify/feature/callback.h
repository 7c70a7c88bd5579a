// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_FEATURE_CALLBACK_H
#define NB_VERIFY_FEATURE_CALLBACK_H

#include "core/verify/flow/calls.h"
#include "core/verify/state/env.h"

struct at;

/*
 * Helpers that call back (effect CALLS: bpf_loop, bpf_for_each_map_elem). The
 * walk comes to such a call once before each turn, the first included: it is
 * the head of a loop whose body is the callback. From there one way leaves
 * the loop and one takes another turn.
 */

/* r@number may be called back by @h: 0, or NB_E_VERIFY. */
int nb_check_callback(const struct at *a, const struct nb_helper_spec *h,
		      int number);
/* A callback's r0 at its exit: 0, or NB_E_VERIFY. */
int nb_check_callback_return(const struct at *a);

/* Iterations of the call at @pc if that is a constant, else 0. */
uint32_t nb_callback_times(const struct nb_env *env, struct nb_state *st,
			   uint32_t pc);

/*
 * Before the first turn of the call at @pc. Turns are counted where there are
 * few, unless env->mode is NB_WALK_WIDEN: then states hold for any number.
 */
void nb_callback_begin(struct nb_env *env, struct nb_state *st, uint32_t pc);

/* Before each turn: if local data decides about it, a region of local control
 * opens. */
void nb_callback_turn(struct nb_env *env, struct nb_state *st, uint32_t pc);

/* Can there be another turn? */
bool nb_callback_more(struct nb_env *env, struct nb_state *st, uint32_t pc);

/* Into the callback; its first slot. Requires nb_callback_more. */
uint32_t nb_callback_enter(struct nb_env *env, struct nb_state *st,
			   uint32_t pc);

/*
 * The callback's exit: back to the caller, before another turn (true) or,
 * because r0 is 1, at the end (false).
 */
bool nb_callback_return(struct nb_env *env, struct nb_state *st);

/* No more turns: r0 is what the helper answers. */
void nb_callback_leave(struct nb_env *env, struct nb_state *st, uint32_t pc);

#endif
