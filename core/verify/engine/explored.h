// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_ENGINE_EXPLORED_H
#define NB_VERIFY_ENGINE_EXPLORED_H

#include "core/verify/engine/walk.h"

/*
 * nb_prune_at_join - end the path if an explored state subsumes the current
 * one; otherwise the current one is explored from here on
 *
 * *@more false: the path is pruned. 0, or NB_E_VERIFY with the finding (an
 * endless loop, no more memory for states), or NB_E_NOMEM.
 */
int nb_prune_at_join(struct nb_walk *w, bool *more);

/*
 * The same where the run time counts iterations: right after the may_goto at
 * @pc was passed (@loop 0; w->pc is the next slot), or before an iteration of
 * helper call or iterator @loop at @pc. @widen: let scalars grow from
 * iteration to iteration.
 */
int nb_prune_at_iteration(struct nb_walk *w, uint32_t pc, uint32_t loop,
			  bool widen, bool *more);

/* The path continues from explored state @n; NULL: from the start. */
void nb_walk_continue_from(struct nb_walk *w, struct nb_explored *n);
/* It ended, and with it each of its explored states without an open path. */
void nb_path_end(struct nb_walk *w);

#endif
