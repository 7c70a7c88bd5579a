// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_AGENT_OWN_H
#define NB_PLUGIN_AGENT_OWN_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "plugin/store/store.h"

/*
 * The keys that this agent keeps in the store, with its lease: what it wants
 * there, and what the store has confirmed. A key has one write under way at a
 * time, so that the store never has an older value after a newer one.
 */
struct nb_own_key {
	struct nb_own *own;
	char *key;     /* complete */
	char *want;    /* NULL: to be deleted */
	char *sending; /* under way, or NULL */
	int64_t lease; /* of what is under way: it may end before the reply */
	bool busy, clean;
	int64_t revision; /* revision of the last confirmed write */
	bool kept;	  /* set since nb_own_begin */
	struct nb_own_key *next;
};

struct nb_own {
	struct nb_store *store;
	char prefix[160];
	int64_t lease; /* 0: none yet; nothing is written */
	struct nb_own_key *first;
	struct nb_own_batch *batches; /* writes under way */
	uint64_t failures;	      /* writes that failed, in a row */
	struct nb_err err;	      /* error of the last failed write */
};

/* Want @value (taken) at @key, below the prefix. */
void nb_own_set(struct nb_own *o, const char *key, json_t *value);
/* Revision of the write that put there what is wanted; 0: not confirmed. */
int64_t nb_own_confirmed(struct nb_own *o, const char *key);
/* Delete @key from the store. */
void nb_own_unset(struct nb_own *o, const char *key);
/* Between the two calls all keys below @prefix that shall stay are set; the
 * others are deleted. */
void nb_own_begin(struct nb_own *o, const char *prefix);
void nb_own_end(struct nb_own *o, const char *prefix);
/* Another lease: write everything again with it. */
void nb_own_lease(struct nb_own *o, int64_t lease);
/* Write what the store lacks; call after changes and from time to time. */
void nb_own_flush(struct nb_own *o);
void nb_own_free(struct nb_own *o);

#endif
