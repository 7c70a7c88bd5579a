// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_POLICIES_HELD_H
#define NB_PLUGIN_POLICIES_HELD_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/generation/generation.h"
#include "core/generation/policy.h"

/*
 * The held policies: loaded, verified and compiled, in use or not. All
 * functions need NB_LOCK_STATE.
 */
enum nb_policy_source { NB_SOURCE_ENV, NB_SOURCE_SHELL };

struct nb_held {
	struct nb_policy *policy; /* a reference */
	enum nb_policy_source source;
	/* sums over freed generations */
	struct nb_gen_sum old[NB_IMAGE_MAX_PROGS];
	struct nb_gen_times old_times[NB_IMAGE_MAX_PROGS];
};

enum { NB_MAX_HELD = 64 };

struct nb_held_list {
	struct nb_held at[NB_MAX_HELD]; /* oldest first */
	uint32_t n;
};
extern struct nb_held_list nb_held;

/*
 * nb_held_find - a held policy by name or digest
 * @name: its name (of several, the one loaded last) or at least 8 hexadecimal
 *        digits that begin its digest
 *
 * A borrowed pointer, valid until the lock is released. NULL: NB_E_NOENT, with
 * near names as the hint, or NB_E_ARG (prefix of several).
 */
struct nb_held *nb_held_find(const char *name, struct nb_err *err);

/*
 * nb_held_add - verify an image and hold it
 * @name: name it must have, or NULL for any
 * @finding_text, @finding_json: as in struct nb_policy_opts, may be NULL
 *
 * Verification runs without the lock, which is released and taken again. A
 * policy that is held already is returned as it is. An older policy of the
 * same name stays as long as a generation uses it. *@out is a borrowed
 * pointer as above. The errors of nb_policy_new, NB_E_FULL (NB_MAX_HELD
 * policies), NB_E_ARG (another name).
 */
int nb_held_add(const void *bytes, size_t size, const char *name,
		enum nb_policy_source source, struct nb_buf *finding_text,
		struct nb_buf *finding_json, struct nb_held **out,
		struct nb_err *err);

/*
 * Forget a policy. NB_E_NOENT, NB_E_BUSY: in use by the baseline, a
 * communicator or a staged change, or named by NCCLBPF_POLICY. Generations
 * kept for undo do not count: they are forgotten with it.
 * @dry: check only.
 */
int nb_held_discard(const char *name, bool dry, struct nb_err *err);

/* Does the baseline, a communicator or the staged change use it? */
bool nb_held_in_use(const struct nb_policy *p);
/* The counters of program @prog of @p over all generations and communicators
 * of this process. */
struct nb_gen_sum nb_held_counts(const struct nb_policy *p, uint32_t prog);
/* The run times of a tuner program over all generations and communicators. */
struct nb_gen_times nb_held_times(const struct nb_policy *p, uint32_t prog);
/* At the end: release all. */
void nb_held_free(void);

#endif
