// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_FLOW_CALLS_H
#define NB_VERIFY_FLOW_CALLS_H

#include "core/verify/state/env.h"
#include "core/verify/state/operands.h"

/* Does the instruction call a helper that calls back (effect CALLS)? */
static inline bool nb_calls_back(const struct nb_insn *insn)
{
	return nb_insn_effect(insn) == NB_EFFECT_CALLS;
}

/* Record that the call at @pc calls back the function at @start. */
void nb_callee_note(struct nb_env *env, uint32_t pc, uint32_t start);

/* Functions that the call at @pc was seen to call back. */
const struct nb_callee *nb_callees(const struct nb_env *env, uint32_t pc);

/*
 * A global function is verified once, by its signature alone, for all callers.
 * What its walks found out for them:
 */
struct nb_global {
	const struct nb_func *func;
	uint32_t frames; /* used at most, its own included */
	uint32_t lap;	 /* instructions before an iteration ends, at most */
	bool counts;	 /* iterations end in it */
	bool outputs;	 /* it may write outputs, or tail-call what may */
	bool tails;	 /* it, or what it calls, makes tail calls */
	uint8_t uses;	 /* NB_BUDGET_*: it, or what it tail-calls, spends */
	/* of a walk with labels and coherent arguments: what it returns or
	 * leaves in memory is local; so is how much it used of these */
	bool local;
	uint8_t local_uses;
	/* that walk assumes that the memory of its arguments became local */
	bool memory_local;
};

/* The global function that begins at @pc; NULL: none does. */
struct nb_global *nb_global_at(const struct nb_env *env, int64_t pc);

#endif
