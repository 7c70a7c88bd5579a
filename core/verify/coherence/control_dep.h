// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_COHERENCE_CONTROL_DEP_H
#define NB_VERIFY_COHERENCE_CONTROL_DEP_H

#include "core/verify/state/env.h"

/*
 * A region of local control reaches from a branch on local data to the slot
 * where all its paths meet. Everything that any path inside may write, also in
 * called functions, is local after the region on every path: that a value was
 * not written depends on the local data, too.
 */

/* Tables for a walk with labels; false: no memory. */
bool nb_region_init(struct nb_env *env);

/* Open a region at the branch @pc unless one is open. */
void nb_region_open(struct nb_env *env, struct nb_state *st, uint32_t pc);

/* Close it: what it may have written becomes local. */
void nb_region_close(struct nb_env *env, struct nb_state *st);

#endif
