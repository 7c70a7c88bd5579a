// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_FLOW_CFG_H
#define NB_VERIFY_FLOW_CFG_H

#include "core/bpf/verify/state/env.h"
#include "core/bpf/verify/state/operands.h"

/*
 * nb_cfg_build - check the control-flow graph of the program and fill env->program.cfg
 *
 * Rejects jumps that leave their function or hit the middle of an LDDW, paths
 * that run off the end, unreachable code, calls to outside the program, and
 * recursion. Requires env->program.insns. Returns 0, NB_E_VERIFY with the finding
 * filled, or NB_E_NOMEM.
 */
int nb_cfg_build(struct nb_env *env);

/* Find the slots that may follow @pc inside its function; returns how many
 * (0 to 2). */
unsigned nb_cfg_next(const struct nb_program *program, uint32_t pc, uint32_t next[2]);

/*
 * Return the slot where all paths from @pc meet again inside its function
 * (immediate post-dominator). Returns NB_NO_PC if they meet only at the
 * function's end, or if the search would cost too much.
 */
uint32_t nb_cfg_join(struct nb_env *env, uint32_t pc);

/*
 * Return the bytes of the deepest call chain, computed from the facts, and
 * store the functions on it in @chain. Frames count in multiples of 16
 * bytes.
 */
uint32_t nb_cfg_stack(const struct nb_env *env, uint32_t chain[NB_MAX_FRAMES], uint32_t *nchain);

/* Does the instruction call a helper that calls functions back (effect
 * CALLS)? */
static inline bool nb_calls_back(const struct nb_insn *insn)
{
	return nb_insn_effect(insn) == NB_EFFECT_CALLS;
}

#endif
