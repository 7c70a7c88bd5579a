// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_FEATURE_CALLBACK_H
#define NB_VERIFY_FEATURE_CALLBACK_H

#include "core/bpf/verify/flow/cfg.h"
#include "core/bpf/verify/state/env.h"

struct at;

/*
 * Helpers that call functions back (effect CALLS: bpf_loop,
 * bpf_for_each_map_elem). The walk reaches such a call once before each
 * iteration, including the first: the call is the head of a loop whose body
 * is the callback. One path leaves the loop there, and one path begins
 * another iteration.
 */

/* Check that the helper may call back the function in register @number: 0,
 * or NB_E_VERIFY. */
int nb_check_callback(const struct at *a, int number);
/* Check a callback's r0 at its exit: 0, or NB_E_VERIFY. */
int nb_check_callback_return(const struct at *a);

/* Return the number of iterations of the call at @pc if it is constant,
 * else 0. */
uint32_t nb_callback_times(const struct nb_env *env, struct nb_state *st, uint32_t pc);

/*
 * Begin the call at @pc, before its first iteration. Few iterations are
 * counted one by one, unless env->walk.how.mode is NB_WALK_WIDEN: then a state holds
 * for any number of iterations.
 */
void nb_callback_begin(struct nb_env *env, struct nb_state *st, uint32_t pc);

/* Call this before each iteration: if rank-local data decides whether it
 * happens, a region of local control opens. */
void nb_callback_iterate(struct nb_env *env, struct nb_state *st, uint32_t pc);

/* Can another iteration follow? */
bool nb_callback_more(struct nb_env *env, struct nb_state *st, uint32_t pc);

/* Enter the callback and return its first slot. Requires nb_callback_more. */
uint32_t nb_callback_enter(struct nb_env *env, struct nb_state *st, uint32_t pc);

/* Walk the callback's exit, back to the caller. Returns true before another
 * iteration, and false if the loop ends because r0 is 1. */
bool nb_callback_return(struct nb_env *env, struct nb_state *st);

/* Leave the loop: r0 becomes the helper's result. */
void nb_callback_leave(struct nb_env *env, struct nb_state *st, uint32_t pc);

#endif
