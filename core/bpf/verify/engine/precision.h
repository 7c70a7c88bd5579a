// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_ENGINE_PRECISION_H
#define NB_VERIFY_ENGINE_PRECISION_H

#include "core/bpf/verify/state/marks.h"
#include "core/bpf/verify/state/operands.h"

/*
 * nb_marks_begin - give slots to the scalars of @st, which becomes an explored
 * state
 * @mem: nb_marks_size(@st) bytes, kept by @m
 *
 * From here on nb_reg.deps and nb_frame.written of @st refer to @m, and
 * env->walk.marks is @m.
 */
size_t nb_marks_size(const struct nb_state *st);
void nb_marks_begin(struct nb_env *env, struct nb_marks *m, struct nb_state *st, void *mem);

/* Take @up, the parent of @m, out of the chain of explored states. */
void nb_marks_skip(struct nb_marks *m, const struct nb_marks *up);

/* Record that cells of frame @frame of @st were read. nb_mark_read takes
 * the bytes [@lo, @hi), counted from the frame pointer. */
void nb_mark_cells(struct nb_env *env, const struct nb_state *st, uint32_t frame,
		   struct nb_cells cells);
void nb_mark_read(struct nb_env *env, const struct nb_state *st, uint32_t frame, int64_t lo,
		  int64_t hi);
/* Mark all of @st, because anything may have been concluded from it. */
void nb_mark_all(struct nb_env *env, const struct nb_state *st);

/*
 * Mark the values that the instruction at @pc relies on when it is checked
 * and stepped; transfer.c does the same for jumps. Call it after nb_check
 * accepted the instruction and before nb_step.
 */
void nb_mark_uses(struct nb_env *env, const struct nb_state *st, uint32_t pc,
		  const struct nb_mem_access *x);

#endif
