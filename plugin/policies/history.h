// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_POLICIES_HISTORY_H
#define NB_PLUGIN_POLICIES_HISTORY_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/sha256.h"
#include "core/generation/generation.h"

/*
 * The generations that this process began with or saw committed, newest
 * first. Those that are kept can be gone back to. All functions want the
 * lock NB_LOCK_STATE.
 */
enum { NB_HISTORY = 16, NB_HISTORY_NAMES = 200 };

struct nb_history_entry {
	uint32_t number;
	struct nb_gen *gen; /* kept while it stands here; NULL: not any more */
	uint8_t digest[NB_SHA256_SIZE];
	char names[NB_HISTORY_NAMES]; /* separated by blanks; cut off */
	/* "ring, tree for ID, ID; ..." for people; cut off, "": no scope */
	char scoped[2 * NB_HISTORY_NAMES];
	uint64_t at_s;	   /* since 1970; 0: not known */
	uint32_t uid, pid; /* who asked; pid 0: nobody */
	bool loop;	   /* controllers made it */
};

struct nb_history {
	struct nb_history_entry entry[NB_HISTORY];
	uint32_t n;
};

extern struct nb_history nb_history;

/* Generation @number, @g, is the baseline now. @loop: controllers made it, and
 * it takes the place of the one that they made before, if that is the newest.
 */
void nb_history_note(uint32_t number, struct nb_gen *g, bool loop);
/* Is @g kept? */
bool nb_history_keeps(const struct nb_gen *g);
/* Does a kept one have @p? */
bool nb_history_has(const struct nb_policy *p);
/* Keep those that have @p no longer. */
void nb_history_forget(const struct nb_policy *p);
/* Keep the oldest one no longer; false: there is none but the newest. */
bool nb_history_thin(void);
/* A borrowed pointer; NULL: not kept. */
struct nb_gen *nb_history_find(uint32_t number);

#endif
