// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_ENGINE_RUN_LENGTH_H
#define NB_VERIFY_ENGINE_RUN_LENGTH_H

#include "core/verify/engine/walk.h"

/* The path executes one instruction. */
void nb_length_add_insn(struct nb_walk *w);
/* A call at w->pc stands for @n instructions besides its own. */
void nb_length_add_call(struct nb_walk *w, uint32_t n);
/* Add the instructions of the helper called at w->pc. */
void nb_length_add_helper(struct nb_walk *w);

/* The path's iteration ends, at most @after instructions from here. */
void nb_iteration_end(struct nb_walk *w, uint32_t after);
/* It ends here, and the next one begins. */
void nb_iteration_count(struct nb_walk *w);

/* All paths from @n ended: what is known of their lengths goes to its
 * parent, and to each iteration that led back to @n. */
void nb_length_pass_up(struct nb_walk *w, const struct nb_explored *n);
/* @child takes the place of @n, its parent. */
void nb_length_skip(struct nb_walk *w, const struct nb_explored *n,
		    struct nb_explored *child);

#endif
