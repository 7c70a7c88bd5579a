// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_ENGINE_EXPLORED_H
#define NB_VERIFY_ENGINE_EXPLORED_H

#include "core/bpf/verify/engine/walk.h"

/*
 * nb_prune_at_join - prune the path if an explored state subsumes the current
 * one; otherwise keep the current one as an explored state
 *
 * *@more false: the path is pruned. Returns 0, NB_E_VERIFY with the finding
 * (an endless loop, or no more memory for states), or NB_E_NOMEM.
 */
int nb_prune_at_join(struct nb_walk *w, bool *more);

/*
 * nb_prune_at_iteration - like nb_prune_at_join, where the run time counts
 * iterations
 *
 * Call it right after the may_goto at @pc passed (@loop is 0, and w->pc is the
 * next slot), or before an iteration of the helper call or iterator @loop at
 * @pc. @widen: let scalars grow from iteration to iteration.
 */
int nb_prune_at_iteration(struct nb_walk *w, uint32_t pc, uint32_t loop, bool widen, bool *more);

/* Give the memory of all explored states and open paths to later walks. */
void nb_explored_forget(struct nb_walk *w);

/* Continue the path from explored state @n, or from the start if @n is NULL. */
void nb_walk_continue_from(struct nb_walk *w, struct nb_explored *n);
/* End the path, and close each of its explored states that has no open path
 * left. */
void nb_path_end(struct nb_walk *w);

#endif
