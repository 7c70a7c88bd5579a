// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_ENGINE_WORKLIST_H
#define NB_VERIFY_ENGINE_WORKLIST_H

#include "core/bpf/verify/engine/walk.h"

/* Record that the path reaches the branch at @pc. */
void nb_history_add(struct nb_walk *w, uint32_t pc);
/* Record the outcome at that branch. @open: the other outcome was possible
 * too. */
void nb_history_set(struct nb_walk *w, bool taken, bool open);

/* Add a path that continues at @pc with a copy of the current state. */
int nb_worklist_push(struct nb_walk *w, uint32_t pc);
/* Continue with the newest open path; returns false if there is none. */
bool nb_worklist_pop(struct nb_walk *w);

#endif
