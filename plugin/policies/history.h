// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_POLICIES_HISTORY_H
#define NB_PLUGIN_POLICIES_HISTORY_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/sha256.h"
#include "core/job/segment/format.h"
#include "core/bpf/generation/generation.h"

/*
 * The generations that this process started with or saw committed, the newest
 * first. `policy undo` returns to a generation that is still kept. All
 * functions need NB_LOCK_STATE.
 */
enum { NB_HISTORY = 16, NB_HISTORY_NAMES = 200 };

struct nb_history_entry {
	uint32_t number;
	struct nb_gen *gen; /* the generation, or NULL once it is freed */
	uint8_t digest[NB_SHA256_SIZE];
	/* policy names separated by blanks, truncated */
	char names[NB_HISTORY_NAMES];
	/*
	 * Scopes as text for people, such as `ring, tree for ID, ID; ...`,
	 * truncated; empty if the generation has no scopes.
	 */
	char scoped[2 * NB_HISTORY_NAMES];
	/* time of the change in seconds since 1970; 0 if not known */
	uint64_t at_s;
	struct nb_seg_maker maker; /* the client that asked for the change */
	bool loop;		   /* controllers, not a client, made the change */
	/* the generation's number for users (nb_history_number) */
	uint64_t shown;
};

struct nb_history {
	struct nb_history_entry entry[NB_HISTORY];
	uint32_t n;
};

extern struct nb_history nb_history;

/*
 * Record @g, with number @number, as the new baseline. @loop: controllers made
 * the change. It then replaces the newest entry, if controllers made that entry
 * too
 */
void nb_history_note(uint32_t number, struct nb_gen *g, bool loop);
/* Returns true if the history keeps generation @g. */
bool nb_history_keeps(const struct nb_gen *g);
/* Returns true if a kept generation has policy @p. */
bool nb_history_has(const struct nb_policy *p);
/* Stop keeping generations that contain policy @p. */
void nb_history_forget(const struct nb_policy *p);
/*
 * Stop keeping the oldest generation. Returns false if only the newest is left.
 */
bool nb_history_thin(void);
/*
 * Returns the number under which users know generation @number of this host. In
 * a job of several hosts it is the fleet's number, which is 0 for the job's
 * initial generation.
 */
uint64_t nb_history_number(uint32_t number);
/*
 * Returns a borrowed pointer to the kept generation that users know as @number,
 * or NULL.
 */
struct nb_gen *nb_history_find(uint32_t number);

#endif
