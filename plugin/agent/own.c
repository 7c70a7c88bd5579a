// SPDX-License-Identifier: MIT
/*
 * The agent's own keys in the store, and the writes that keep the store up to
 * date.
 */
#include "plugin/agent/own.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plugin/agent/times.h"

static struct nb_own_key *own_find(struct nb_own *o, const char *key)
{
	size_t skip = strlen(o->prefix);

	for (struct nb_own_key *k = o->first; k; k = k->next)
		if (!strcmp(k->key + skip, key))
			return k;
	return NULL;
}

static struct nb_own_key *own_add(struct nb_own *o, const char *key)
{
	struct nb_own_key *k = calloc(1, sizeof(*k));
	size_t size = strlen(o->prefix) + strlen(key) + 1;

	if (!k)
		return NULL;
	k->key = malloc(size);
	if (!k->key) {
		free(k);
		return NULL;
	}
	snprintf(k->key, size, "%s%s", o->prefix, key);
	k->own = o;
	k->next = o->first;
	o->first = k;
	return k;
}

/*
 * Set the wanted value of the key to @text. The key takes ownership of @text.
 */
static void own_want(struct nb_own_key *k, char *text)
{
	free(k->want);
	k->want = text;
	k->clean = false;
	k->own->changed_ms = nb_agent_ms();
}

void nb_own_set(struct nb_own *o, const char *key, json_t *value)
{
	struct nb_own_key *k = own_find(o, key);
	char *text = json_dumps(value, JSON_COMPACT | JSON_SORT_KEYS);

	json_decref(value);
	if (!k)
		k = own_add(o, key);
	if (!k || !text) {
		free(text);
		return;
	}
	k->kept = true;
	if (k->want && !strcmp(k->want, text))
		free(text);
	else
		own_want(k, text);
}

int64_t nb_own_confirmed(struct nb_own *o, const char *key)
{
	const struct nb_own_key *k = own_find(o, key);

	return k && k->clean ? k->revision : 0;
}

int nb_own_last(struct nb_own *o, const char *key, const char *name,
		const char *value, nb_store_done_fn *done, void *arg)
{
	char full[NB_STORE_KEY_SIZE];
	const struct nb_own_key *k = own_find(o, key);
	struct nb_store_compare ours = { .revision = nb_own_confirmed(o, key) };
	struct nb_store_op put = { .kind = NB_STORE_PUT,
				   .key = full,
				   .value = value,
				   .size = strlen(value) };
	struct nb_store_txn txn = { &ours, 1, &put, 1, NULL, 0 };

	if (!ours.revision)
		return NB_E_STALE;
	ours.key = k->key;
	snprintf(full, sizeof(full), "%s%s", o->prefix, name);
	return nb_store_txn(o->store, &txn, done, arg, NULL);
}

static void own_drop(struct nb_own_key *k)
{
	if (k->want)
		k->clean = false;
	free(k->want);
	k->want = NULL;
}

void nb_own_begin(struct nb_own *o, const char *prefix)
{
	size_t skip = strlen(o->prefix), n = strlen(prefix);

	for (struct nb_own_key *k = o->first; k; k = k->next)
		if (!strncmp(k->key + skip, prefix, n))
			k->kept = false;
}

void nb_own_end(struct nb_own *o, const char *prefix)
{
	size_t skip = strlen(o->prefix), n = strlen(prefix);

	for (struct nb_own_key *k = o->first; k; k = k->next)
		if (!k->kept && !strncmp(k->key + skip, prefix, n))
			own_drop(k);
}

void nb_own_lease(struct nb_own *o, int64_t lease)
{
	o->lease = lease;
	for (struct nb_own_key *k = o->first; k; k = k->next)
		k->clean = false;
}

/* Keys that one store transaction writes. */
struct nb_own_batch {
	struct nb_own *own;
	/* links of the list of transactions under way in struct nb_own */
	struct nb_own_batch *next, **link;
	struct nb_own_key *key[NB_STORE_OPS];
	struct nb_store_op op[NB_STORE_OPS], get[NB_STORE_OPS];
	struct nb_store_compare compare[NB_STORE_OPS];
	size_t n;
};

/* Returns true if the write that has ended wrote what is wanted now. */
static bool is_wanted(const struct nb_own_key *k)
{
	return k->want && k->sending ? !strcmp(k->want, k->sending) &&
					       k->lease == k->own->lease
				     : !k->want && !k->sending;
}

static void own_unlink(struct nb_own_batch *b)
{
	*b->link = b->next;
	if (b->next)
		b->next->link = b->link;
	free(b);
}

/*
 * Returns the revision at which the store has key @i of a transaction, as the
 * reply shows.
 */
static int64_t revision_of(const struct nb_own_batch *b, size_t i,
			   const struct nb_store_reply *r)
{
	if (r->succeeded)
		return b->key[i]->sending ? r->revision : 0;
	for (size_t n = 0; n < r->nkv; n++)
		if (r->kv[n].op == i)
			return r->kv[n].mod_revision;
	return 0;
}

static void own_done(void *arg, const struct nb_store_reply *r)
{
	struct nb_own_batch *b = arg;
	struct nb_own *o = b->own;

	for (size_t i = 0; i < b->n; i++) {
		struct nb_own_key *k = b->key[i];

		k->busy = false;
		if (r->unknown)
			k->unsure_ms = nb_agent_ms();
		if (!r->err) {
			k->revision = revision_of(b, i, r);
			k->clean = r->succeeded && is_wanted(k);
			if (r->succeeded)
				k->there = k->sending ? k->lease : 0;
		}
		free(k->sending);
		k->sending = NULL;
	}
	own_unlink(b);
	if (r->err) {
		o->failures++;
		o->err = *r->err;
		return;
	}
	o->failures = 0;
	nb_own_flush(o);
}

/* Compare the revision of key @k; if it differs, read it. */
static void own_read_ops(struct nb_own_batch *b, struct nb_own_key *k)
{
	b->compare[b->n] = (struct nb_store_compare){ .key = k->key,
						      .revision = k->revision };
	b->get[b->n] =
		(struct nb_store_op){ .kind = NB_STORE_GET, .key = k->key };
}

/*
 * Add the operations that write key @k to the transaction. Returns false if
 * there is no memory.
 */
static bool own_ops(struct nb_own_batch *b, struct nb_own_key *k)
{
	b->op[b->n] =
		(struct nb_store_op){ .kind = k->want ? NB_STORE_PUT
						      : NB_STORE_DELETE,
				      .key = k->key,
				      .value = k->want,
				      .size = k->want ? strlen(k->want) : 0,
				      .lease = k->want ? k->own->lease : 0 };
	own_read_ops(b, k);
	k->lease = b->op[b->n].lease;
	k->sending = k->want ? strdup(k->want) : NULL;
	return !k->want || k->sending;
}

static bool is_site(const struct nb_own_key *k)
{
	return !strncmp(k->key + strlen(k->own->prefix), "site/", 5);
}

/*
 * Returns true if the key site/SITE must wait for other keys, because the store
 * does not have it under this lease. When it is there, the coordinator takes it
 * that the site has ranks of no other communicators than its keys comm/ say.
 */
static bool is_early(const struct nb_own_batch *b, const struct nb_own_key *k)
{
	if (k->there == b->own->lease)
		return false;
	for (const struct nb_own_key *i = b->own->first; i; i = i->next) {
		bool here = i == k || i->clean;

		for (size_t n = 0; !here && n < b->n; n++)
			here = b->key[n] == i;
		if (!here)
			return true;
	}
	return false;
}

/* Add the keys to write: site/SITE (@site) or the others. */
static void own_collect(struct nb_own_batch *b, bool site)
{
	for (struct nb_own_key *k = b->own->first; k && b->n < NB_STORE_OPS;
	     k = k->next)
		if (is_site(k) == site && !k->busy && !k->clean &&
		    !(site && is_early(b, k)) && own_ops(b, k))
			b->key[b->n++] = k;
}

static struct nb_own_batch *batch_new(struct nb_own *o)
{
	struct nb_own_batch *b = malloc(sizeof(*b));

	if (!b)
		return NULL;
	b->own = o;
	b->n = 0;
	b->next = o->batches;
	b->link = &o->batches;
	if (b->next)
		b->next->link = &b->next;
	o->batches = b;
	return b;
}

/*
 * The store has answered which of the keys it has as we know them. A key whose
 * wanted value changed meanwhile is written anyway.
 */
static void compared(void *arg, const struct nb_store_reply *r)
{
	struct nb_own_batch *b = arg;
	struct nb_own *o = b->own;
	bool differ = !r->err && !r->succeeded;

	for (size_t i = 0; i < b->n; i++) {
		struct nb_own_key *k = b->key[i];
		int64_t there = differ ? revision_of(b, i, r) : k->revision;

		k->busy = false;
		if (there == k->revision)
			continue;
		k->revision = there;
		k->there = 0;
		k->clean = false;
	}
	own_unlink(b);
	if (!r->err)
		nb_own_flush(o);
}

/* Compare the next keys. Returns false if none is left. */
static bool own_compare(struct nb_own *o)
{
	struct nb_own_batch *b = o->lease ? batch_new(o) : NULL;
	struct nb_store_txn txn;
	bool sent;

	if (!b)
		return false;
	for (struct nb_own_key *k = o->first; k && b->n < NB_STORE_OPS;
	     k = k->next) {
		if (k->busy || !k->clean || !k->want)
			continue;
		own_read_ops(b, k);
		b->key[b->n++] = k;
	}
	txn = (struct nb_store_txn){ .compare = b->compare,
				     .ncompare = b->n,
				     .otherwise = b->get,
				     .notherwise = b->n };
	sent = b->n && !nb_store_txn(o->store, &txn, compared, b, NULL);
	for (size_t i = 0; i < b->n; i++)
		b->key[i]->busy = sent;
	if (!sent)
		own_unlink(b);
	return sent;
}

void nb_own_compare(struct nb_own *o)
{
	while (own_compare(o))
		;
}

/*
 * Write the next keys that the store lacks in one transaction, so that several
 * changed keys cost the store one write. If the store has another revision of
 * one of the keys, it only returns their revisions, and the keys are written
 * again. Returns false if no key is left to write or the transaction cannot be
 * sent.
 */
static bool own_send(struct nb_own *o)
{
	struct nb_own_batch *b = batch_new(o);
	struct nb_store_txn txn;
	bool sent;

	if (!b)
		return false;
	own_collect(b, false);
	own_collect(b, true);
	txn =
		(struct nb_store_txn){ b->compare, b->n,   b->op,
				       b->n,	   b->get, b->n };
	sent = b->n && !nb_store_txn(o->store, &txn, own_done, b, NULL);
	for (size_t i = 0; i < b->n; i++) {
		b->key[i]->busy = sent;
		if (sent)
			continue;
		free(b->key[i]->sending);
		b->key[i]->sending = NULL;
	}
	if (!sent)
		own_unlink(b);
	return sent;
}

enum { UNSURE_MS = 60000, CHECK_MS = 5000 };

/*
 * Returns true while a write whose outcome was unknown may still create the
 * deleted key again. The key is then deleted again at intervals.
 */
static bool may_return(struct nb_own_key *k)
{
	uint64_t now = nb_agent_ms();

	if (!k->unsure_ms || now >= k->unsure_ms + UNSURE_MS)
		return false;
	if (now >= k->checked_ms + CHECK_MS) {
		k->checked_ms = now;
		k->clean = false;
	}
	return true;
}

/* Free keys that the store has deleted. */
static void own_sweep(struct nb_own *o)
{
	for (struct nb_own_key **p = &o->first; *p;) {
		struct nb_own_key *k = *p;

		if (k->want || k->busy || !k->clean || may_return(k)) {
			p = &k->next;
			continue;
		}
		*p = k->next;
		free(k->key);
		free(k);
	}
}

/* Returns true if some key must be written, or may be freed. */
static bool own_is_due(const struct nb_own *o)
{
	for (const struct nb_own_key *k = o->first; k; k = k->next)
		if (!k->busy && (!k->clean || !k->want))
			return true;
	return false;
}

void nb_own_flush(struct nb_own *o)
{
	if (!o->lease || !own_is_due(o))
		return;
	while (own_send(o))
		;
	if (!o->failures)
		own_sweep(o);
}

void nb_own_free(struct nb_own *o)
{
	while (o->batches)
		// NOLINTNEXTLINE(clang-analyzer-unix.Malloc): unlinked
		own_unlink(o->batches);
	while (o->first) {
		struct nb_own_key *k = o->first;

		o->first = k->next;
		free(k->key);
		free(k->want);
		free(k->sending);
		free(k);
	}
}
