// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_AGENT_OWN_H
#define NB_PLUGIN_AGENT_OWN_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "plugin/store/store.h"

/*
 * The keys that this agent keeps in the store under its lease. Each key has a
 * wanted value and the value that the store has confirmed. A key has at most
 * one write under way, and each write requires the revision that the key had
 * before. A write whose outcome is unknown can thus not replace a later one.
 */
struct nb_own_key {
	struct nb_own *own;
	char *key;     /* the key's full name in the store */
	char *want;    /* wanted value; NULL: the key is to be deleted */
	char *sending; /* value of the write under way, or NULL */
	/*
	 * lease of the write under way, which may end before the reply arrives
	 */
	int64_t lease;
	int64_t there; /* lease that the key has in the store, by the last
			  reply; 0: none */
	bool busy, clean;
	/*
	 * revision of the key in the store, by the last reply that showed it;
	 * 0: the store did not have the key
	 */
	int64_t revision;
	/*
	 * When the outcome of a write was unknown, 0: never; and when a deleted
	 * key was last checked. A late write may create the deleted key again.
	 */
	uint64_t unsure_ms, checked_ms;
	bool kept; /* the owner has set this key since nb_own_begin */
	struct nb_own_key *next;
};

struct nb_own {
	struct nb_store *store;
	char prefix[160];
	/* lease of all keys; 0: there is none yet, so nothing is written */
	int64_t lease;
	struct nb_own_key *first;
	struct nb_own_batch *batches; /* list of write transactions under way */
	uint64_t failures;	      /* number of failed writes in a row */
	uint64_t changed_ms;	      /* when a wanted value last changed */
	struct nb_err err;	      /* error of the last failed write */
};

/*
 * Set the wanted value of @key, which is relative to the prefix. Takes
 * ownership of @value.
 */
void nb_own_set(struct nb_own *o, const char *key, json_t *value);
/*
 * Returns the revision of the confirmed write of the wanted value; 0 if it is
 * not confirmed.
 */
int64_t nb_own_confirmed(struct nb_own *o, const char *key);
/*
 * Write the key @name, without a lease, on condition that nobody else has
 * written @key since our last confirmed write of @key. Returns NB_E_STALE, and
 * sends nothing, if the wanted value of @key is not confirmed; else the result
 * of nb_store_txn.
 */
int nb_own_last(struct nb_own *o, const char *key, const char *name,
		const char *value, nb_store_done_fn *done, void *arg);
/*
 * Replace all keys below @prefix: nb_own_end deletes the keys that were not set
 * after nb_own_begin.
 */
void nb_own_begin(struct nb_own *o, const char *prefix);
void nb_own_end(struct nb_own *o, const char *prefix);
/* Set a new lease, under which all keys are written again. */
void nb_own_lease(struct nb_own *o, int64_t lease);
/*
 * Compare the keys with the store. Keys that somebody else has deleted or
 * changed, or that a restored store has lost, are written again.
 */
void nb_own_compare(struct nb_own *o);
/*
 * Write the keys that the store lacks. Call it after changes and at intervals.
 */
void nb_own_flush(struct nb_own *o);
void nb_own_free(struct nb_own *o);

#endif
