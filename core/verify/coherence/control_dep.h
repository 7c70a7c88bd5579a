// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_COHERENCE_CONTROL_DEP_H
#define NB_VERIFY_COHERENCE_CONTROL_DEP_H

#include "core/verify/state/env.h"

/*
 * Regions of local control: from a branch on local data to where all its
 * ways meet. What may be written inside, on any way and in functions called
 * there, is local afterwards on every way: not writing tells as much as
 * writing.
 */

/* Tables for a walk with labels; false: no memory. */
bool nb_region_init(struct nb_env *env);

/* Open a region at the branch @pc unless one is open. */
void nb_region_open(struct nb_env *env, struct nb_state *st, uint32_t pc);

/* Close it: what it may have written becomes local. */
void nb_region_close(struct nb_env *env, struct nb_state *st);

#endif
