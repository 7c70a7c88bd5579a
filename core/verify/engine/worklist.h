// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_ENGINE_WORKLIST_H
#define NB_VERIFY_ENGINE_WORKLIST_H

#include "core/verify/engine/walk.h"

/* The path comes to the branch at @pc. */
void nb_history_add(struct nb_walk *w, uint32_t pc);
/* Its outcome at that branch; @open: the other outcome was possible, too. */
void nb_history_set(struct nb_walk *w, bool taken, bool open);

/* Add a path that continues at @pc with the state as it is now. */
int nb_worklist_push(struct nb_walk *w, uint32_t pc);
/* Continue with the newest open path; false: there is none. */
bool nb_worklist_pop(struct nb_walk *w);
/* Continue with the oldest one, which has the fewest branches. */
bool nb_worklist_pop_oldest(struct nb_walk *w);

#endif
