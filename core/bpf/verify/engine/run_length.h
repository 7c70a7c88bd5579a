// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_ENGINE_RUN_LENGTH_H
#define NB_VERIFY_ENGINE_RUN_LENGTH_H

#include "core/bpf/verify/engine/walk.h"

static inline void nb_raise_length(uint32_t *a, uint32_t b)
{
	if (*a < b)
		*a = b;
}

/* Count one instruction that the path executes. */
void nb_length_add_insn(struct nb_walk *w);
/* Count @n instructions for the call at w->pc, besides the call itself. */
void nb_length_add_call(struct nb_walk *w, uint32_t n);
/* Add the instructions of the helper called at w->pc. */
void nb_length_add_helper(struct nb_walk *w);

/* Record that the path's iteration ends at most @after instructions from
 * here. */
void nb_iteration_end(struct nb_walk *w, uint32_t after);
/* End the current iteration here and begin the next one. */
void nb_iteration_count(struct nb_walk *w);

/* Pass on the lengths of @n when all paths from @n ended: to its parent,
 * and to each iteration that led back to @n. */
void nb_length_pass_up(struct nb_walk *w, const struct nb_explored *n);
/* State @n is dropped: make @child the child of its parent. */
void nb_length_skip(struct nb_walk *w, const struct nb_explored *n, struct nb_explored *child);

#endif
