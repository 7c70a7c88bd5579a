// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_ENGINE_TRANSFER_H
#define NB_VERIFY_ENGINE_TRANSFER_H

#include "core/bpf/verify/engine/walk.h"

/*
 * nb_advance - walk the instruction at w->pc, which nb_check accepted
 *
 * Steps the state and moves w->pc. If several slots may follow, the other
 * paths go to the worklist. *@more false: this path ended. Returns 0,
 * NB_E_VERIFY with the finding filled, or NB_E_NOMEM.
 */
int nb_advance(struct nb_walk *w, bool *more);

#endif
