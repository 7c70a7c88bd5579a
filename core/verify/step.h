// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_STEP_H
#define NB_VERIFY_STEP_H

#include "core/verify/env.h"

/*
 * What instructions change. All of these require that nb_check granted the
 * instruction at @pc; then the state after holds every concrete outcome.
 */

/* The first state of what env->root names: r1 the context, or the arguments
 * of a global function; r10 the frame pointer. */
void nb_step_init(struct nb_env *env, struct nb_state *st);

/* Anything but jumps, local calls and exit. */
void nb_step(struct nb_env *env, struct nb_state *st, uint32_t pc);

/* A conditional jump, taken or not; false: no member behaves so. */
bool nb_step_branch(struct nb_env *env, struct nb_state *st, uint32_t pc,
		    bool taken);

/*
 * Is a jump decided by numbers already? *@taken says how. Then the state
 * needs no change; false means nothing.
 */
bool nb_step_branch_known(const struct nb_env *env, const struct nb_state *st,
			  uint32_t pc, bool *taken);

/* Does this jump compare anything but two numbers? */
bool nb_step_branch_pointers(const struct nb_env *env,
			     const struct nb_state *st, uint32_t pc);

/* Does this jump look at local data? *@from: where that came from. */
bool nb_step_branch_local(struct nb_env *env, const struct nb_state *st,
			  uint32_t pc, uint32_t *from);

/* Enter the function a local call names, and leave it again. */
void nb_step_call(const struct nb_env *env, struct nb_state *st, uint32_t pc);
void nb_step_return(struct nb_env *env, struct nb_state *st);

/* For other files that change the stack: the slot may write that cell... */
void nb_step_note_write(struct nb_env *env, uint32_t pc, uint32_t frame,
			uint32_t cell);
/* ...and before a write to part of an 8-byte spill: its halves stand alone. */
void nb_step_split(struct nb_env *env, struct nb_frame *f, uint32_t c);

/* Bytes [0, @size) behind register @number may become @v, where they are on
 * the stack; they were written before. */
void nb_step_smear(struct nb_env *env, struct nb_state *st, uint32_t pc,
		   int number, uint32_t size, const struct nb_reg *v);

/* Registers the instruction may write, bit i for ri. */
uint16_t nb_step_defs(const struct nb_insn *insn);

#endif
