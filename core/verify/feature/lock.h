// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_FEATURE_LOCK_H
#define NB_VERIFY_FEATURE_LOCK_H

#include "core/verify/state/env.h"

struct at;

/* Locks in map values. A state holds at most one lock, which its map and
 * the identity of the value identify. */

/* Each check below returns 0, or NB_E_VERIFY with the finding filled. */

/* Check that register @number points to a lock that may be taken, or to the
 * lock that is held. */
int nb_check_lock(const struct at *a, const struct nb_helper_spec *h,
		  int number);
/* Check the call of @h while a lock is held: only bpf_spin_unlock is
 * allowed. */
int nb_check_locked_call(const struct at *a, const struct nb_helper_spec *h);
/* Reject a call of the global function @name while a lock is held, because
 * the caller does not know what that function does. */
int nb_check_locked_global(const struct at *a, const char *name);
/* Check that no lock is held. */
int nb_check_unlocked(const struct at *a);
void nb_step_lock(struct nb_state *st, uint32_t pc,
		  const struct nb_helper_spec *h, const struct nb_reg *at);

#endif
