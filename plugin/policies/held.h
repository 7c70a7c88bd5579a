// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_POLICIES_HELD_H
#define NB_PLUGIN_POLICIES_HELD_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/bpf/generation/generation.h"
#include "core/bpf/generation/policy.h"
#include "plugin/policies/held_list.h"

/* Loading, finding and forgetting policies. All functions need NB_LOCK_STATE.
 */
/*
 * nb_held_find - find a held policy
 * @name: the policy's name, or at least 8 hexadecimal digits at the start of
 *   its digest; if several policies have the name, the newest is found: the one that was
 *   loaded, or that a change began to use, last
 *
 * Returns a borrowed pointer, valid until the lock is released. Returns NULL
 * with NB_E_NOENT (the hint suggests similar names), or with NB_E_ARG if
 * several digests begin with these digits.
 */
struct nb_held *nb_held_find(const char *name, struct nb_err *err);

/*
 * nb_held_add - verify a policy image and hold the policy
 * @name: the name it must have, or NULL for any name
 * @finding_text, @finding_json: as in struct nb_policy_opts; may be NULL
 *
 * The lock is released during verification. If the policy is held already,
 * *@out is that policy, at its place, because the change that loaded it may yet be refused
 * or a dry run. An older policy of the same name stays as long as a generation uses it. *@out is a
 * borrowed pointer, valid until the lock is released. Returns an error of
 * nb_policy_new, NB_E_FULL (NB_MAX_HELD policies are held), or NB_E_ARG (the
 * image has another name).
 */
int nb_held_add(const void *bytes, size_t size, const char *name, enum nb_policy_source source,
		struct nb_buf *finding_text, struct nb_buf *finding_json, struct nb_held **out,
		struct nb_err *err);

/*
 * Make the policies the newest of their names that the new baseline @g uses and the one @before
 * did not.
 */
void nb_held_renew(const struct nb_gen *g, const struct nb_gen *before);

/*
 * Forget a policy. Returns NB_E_NOENT, or NB_E_BUSY if NCCLBPF_POLICY names the
 * policy or if the baseline, a communicator or a staged change uses it.
 * Generations kept only for undo are forgotten with the policy. @dry: only
 * check
 */
int nb_held_discard(const char *name, bool dry, struct nb_err *err);

/*
 * Returns true if the baseline, a communicator or the staged change uses the
 * policy.
 */
bool nb_held_in_use(const struct nb_policy *p);
/*
 * Returns the counters of program @prog of @p, summed over all generations and
 * communicators of this process.
 */
struct nb_gen_sum nb_held_counts(const struct nb_policy *p, uint32_t prog);
/*
 * Returns the run times of a tuner program, summed over all generations and
 * communicators.
 */
struct nb_gen_times nb_held_times(const struct nb_policy *p, uint32_t prog);
/* Release all policies when the process ends. */
void nb_held_free(void);

#endif
