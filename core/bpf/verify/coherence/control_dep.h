// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_COHERENCE_CONTROL_DEP_H
#define NB_VERIFY_COHERENCE_CONTROL_DEP_H

#include "core/bpf/verify/state/env.h"

/*
 * A region of local control reaches from a branch on rank-local data to the
 * slot where all its paths meet. Everything that any path inside may write,
 * also in called functions, is rank-local after the region on every path,
 * because even a skipped write depends on the local data.
 */

/* Allocate the tables for a walk with labels; returns false if out of
 * memory. */
bool nb_region_init(struct nb_env *env);

/* Open a region at the branch @pc unless a region is open already. */
void nb_region_open(struct nb_env *env, struct nb_state *st, uint32_t pc);

/* Close the region: everything it may have written becomes rank-local. */
void nb_region_close(struct nb_env *env, struct nb_state *st);

#endif
