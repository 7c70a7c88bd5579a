// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_STATE_CFG_H
#define NB_VERIFY_STATE_CFG_H

#include "core/verify/state/env.h"

/*
 * nb_cfg_build - check the shape of the program and fill env->cfg
 *
 * Refuses jumps that leave their function or hit the middle of an LDDW, paths
 * that run off the end, unreachable code, calls outside, recursion.
 * Requires env->insns. 0, or NB_E_VERIFY with the finding filled, or
 * NB_E_NOMEM.
 */
int nb_cfg_build(struct nb_env *env);

/* Slots that may follow @pc inside its function; returns how many (0 to 2). */
unsigned nb_cfg_next(const struct nb_env *env, uint32_t pc, uint32_t next[2]);

/* Function whose first slot is @pc, or -1. */
int nb_cfg_func_at(const struct nb_env *env, uint32_t pc);

/*
 * The slot where all paths from @pc meet again inside its function
 * (immediate post-dominator), or NB_NO_PC when only at the function's end or
 * when finding out would cost too much.
 */
uint32_t nb_cfg_join(struct nb_env *env, uint32_t pc);

/*
 * Bytes of the deepest call chain, from env->depth, and the functions on it.
 * Frames count in multiples of 16 bytes.
 */
uint32_t nb_cfg_stack(const struct nb_env *env, uint32_t chain[NB_MAX_FRAMES],
		      uint32_t *nchain);

#endif
