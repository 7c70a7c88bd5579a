// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_POLICIES_HISTORY_H
#define NB_PLUGIN_POLICIES_HISTORY_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/sha256.h"
#include "core/generation/generation.h"

/*
 * The generations that this process started with or saw committed, newest
 * first. `policy undo` can return to kept ones. All functions need
 * NB_LOCK_STATE.
 */
enum { NB_HISTORY = 16, NB_HISTORY_NAMES = 200 };

struct nb_history_entry {
	uint32_t number;
	struct nb_gen *gen; /* NULL: the generation is freed */
	uint8_t digest[NB_SHA256_SIZE];
	char names[NB_HISTORY_NAMES]; /* separated by blanks; cut to size */
	/* "ring, tree for ID, ID; ..." for people; cut off, "": no scope */
	char scoped[2 * NB_HISTORY_NAMES];
	uint64_t at_s;	   /* since 1970; 0: not known */
	uint32_t uid, pid; /* the client that asked; pid 0: none */
	bool loop;	   /* controllers made it */
};

struct nb_history {
	struct nb_history_entry entry[NB_HISTORY];
	uint32_t n;
};

extern struct nb_history nb_history;

/* Record the new baseline @g with number @number. @loop: controllers made it,
 * so it replaces the newest entry if controllers made that entry too. */
void nb_history_note(uint32_t number, struct nb_gen *g, bool loop);
/* Is @g kept? */
bool nb_history_keeps(const struct nb_gen *g);
/* Does a kept generation have policy @p? */
bool nb_history_has(const struct nb_policy *p);
/* Stop keeping generations that have @p. */
void nb_history_forget(const struct nb_policy *p);
/* Stop keeping the oldest generation; false: only the newest is kept. */
bool nb_history_thin(void);
/* Find generation @number: a borrowed pointer; NULL: not kept. */
struct nb_gen *nb_history_find(uint32_t number);

#endif
