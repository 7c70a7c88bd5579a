// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_FEATURE_LOCK_H
#define NB_VERIFY_FEATURE_LOCK_H

#include "core/verify/state/env.h"

struct at;

/*
 * Locks in map values. A state holds one at most; which, its map and the
 * identity of the value tell.
 */

/* Checks: 0, or NB_E_VERIFY with the finding filled. */

/* Register @number points to the lock of a value, which may be taken, or to
 * the one held. */
int nb_check_lock(const struct at *a, const struct nb_helper_spec *h,
		  int number);
/* Under a lock, bpf_spin_unlock alone is called. */
int nb_check_locked_call(const struct at *a, const struct nb_helper_spec *h);
/* Nor is the global function @name: what it does is not known here. */
int nb_check_locked_global(const struct at *a, const char *name);
/* No lock is held. */
int nb_check_unlocked(const struct at *a);
void nb_step_lock(struct nb_state *st, uint32_t pc,
		  const struct nb_helper_spec *h, const struct nb_reg *at);

#endif
