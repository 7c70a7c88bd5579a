// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_AGENT_KEYS_KEYS_H
#define NB_PLUGIN_AGENT_KEYS_KEYS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "plugin/store/store.h"

/*
 * The two keys that this agent keeps in the store under its lease: site/SITE
 * has the facts of the site, answer/SITE what changes with each order and
 * record. A key has a wanted value and the value that the store has confirmed.
 * One write is under way at most. It writes both keys if both have changed, so
 * the store never shows an answer before the facts that belong to it. A write
 * requires the revisions that the keys had before, so a write whose outcome is
 * unknown cannot replace a later one.
 */
enum nb_own_which { NB_OWN_SITE, NB_OWN_ANSWER, NB_OWN_KEYS };

struct nb_own_key {
	char *want; /* wanted value; NULL: none has been set */
	/*
	 * numbers of the wanted value, of the value last sent, and of the last
	 * one that the store has confirmed; a later value has a larger number
	 */
	uint64_t wanted, sent, written;
	bool clean; /* the store has the wanted value, under our lease */
	/*
	 * revision of the key in the store, by the last reply that showed it;
	 * 0: the store did not have the key
	 */
	int64_t revision;
	size_t op; /* index of the key in the request under way */
	/* the request under way is about this key, and writes it */
	bool asked, sending;
};

struct nb_own {
	struct nb_store *store;
	char prefix[160];
	const char *site; /* name of the site; borrowed */
	/* lease of the keys; 0: there is none yet, so nothing is written */
	int64_t lease;
	int64_t sent_lease; /* lease of the write under way */
	struct nb_own_key key[NB_OWN_KEYS];
	bool busy;	     /* a request is under way */
	uint64_t failures;   /* number of failed writes in a row */
	uint64_t changed_ms; /* when a wanted value last changed */
};

/*
 * Set the wanted value. Takes ownership of @value. Returns the number of the
 * value.
 */
uint64_t nb_own_set(struct nb_own *o, enum nb_own_which which, json_t *value);
/*
 * Returns the revision of the confirmed write of the wanted value; 0 if it is
 * not confirmed.
 */
int64_t nb_own_confirmed(const struct nb_own *o, enum nb_own_which which);
/*
 * Returns a revision at which the store had value @number of the key or a later
 * one; 0 if it is not confirmed.
 */
int64_t nb_own_written(const struct nb_own *o, enum nb_own_which which, uint64_t number);
/*
 * Write the key ended/SITE, without a lease, on condition that nobody else has
 * written site/SITE since our last confirmed write. Returns NB_E_STALE, and
 * sends nothing, if the wanted value of site/SITE is not confirmed; else the
 * result of nb_store_txn.
 */
int nb_own_ended(struct nb_own *o, nb_store_done_fn *done, void *arg);
/* Set a new lease, under which both keys are written again. */
void nb_own_lease(struct nb_own *o, int64_t lease);
/*
 * The store has gone back to an earlier revision: none of our writes counts as
 * confirmed, and both keys are written again.
 */
void nb_own_suspect(struct nb_own *o);
/*
 * Compare the keys with the store. A key that somebody else has deleted or
 * changed, or that a restored store has lost, is written again.
 */
void nb_own_compare(struct nb_own *o);
/*
 * Write the keys that the store lacks. Call it after changes and at intervals.
 */
void nb_own_flush(struct nb_own *o);
void nb_own_free(struct nb_own *o);

#endif
