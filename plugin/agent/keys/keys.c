// SPDX-License-Identifier: MIT
/*
 * The agent's own two keys, and the writes that keep the store up to date.
 */
#include "plugin/agent/keys/keys.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plugin/agent/keys/times.h"

static void own_name(const struct nb_own *o, enum nb_own_which which, char key[NB_STORE_KEY_SIZE])
{
	snprintf(key, NB_STORE_KEY_SIZE, "%s%s/%s", o->prefix,
		 which == NB_OWN_SITE ? "site" : "answer", o->site);
}

uint64_t nb_own_set(struct nb_own *o, enum nb_own_which which, json_t *value)
{
	struct nb_own_key *k = &o->key[which];
	char *text = json_dumps(value, JSON_COMPACT | JSON_SORT_KEYS);

	json_decref(value);
	if (!text || (k->want && !strcmp(k->want, text))) {
		free(text);
		return k->wanted;
	}
	free(k->want);
	k->want = text;
	k->clean = false;
	o->changed_ms = nb_agent_ms();
	return ++k->wanted;
}

int64_t nb_own_confirmed(const struct nb_own *o, enum nb_own_which which)
{
	const struct nb_own_key *k = &o->key[which];

	return k->clean ? k->revision : 0;
}

int64_t nb_own_written(const struct nb_own *o, enum nb_own_which which, uint64_t number)
{
	const struct nb_own_key *k = &o->key[which];

	return number && number <= k->written ? k->revision : 0;
}

int nb_own_ended(struct nb_own *o, nb_store_done_fn *done, void *arg)
{
	char site[NB_STORE_KEY_SIZE], ended[NB_STORE_KEY_SIZE];
	const struct nb_store_compare ours = { .key = site,
					       .revision = nb_own_confirmed(o, NB_OWN_SITE) };
	const struct nb_store_op put = {
		.kind = NB_STORE_PUT, .key = ended, .value = "{}", .size = 2
	};
	const struct nb_store_txn txn = { &ours, 1, &put, 1, NULL, 0 };

	if (!ours.revision)
		return NB_E_STALE;
	own_name(o, NB_OWN_SITE, site);
	snprintf(ended, sizeof(ended), "%sended/%s", o->prefix, o->site);
	return nb_store_txn(o->store, &txn, done, arg, NULL);
}

void nb_own_lease(struct nb_own *o, int64_t lease)
{
	o->lease = lease;
	for (int i = 0; i < NB_OWN_KEYS; i++)
		o->key[i].clean = false;
}

void nb_own_suspect(struct nb_own *o)
{
	nb_own_lease(o, o->lease);
	for (int i = 0; i < NB_OWN_KEYS; i++)
		o->key[i].written = 0;
}

/*
 * Returns the revision at which the store has the key, as the reply to a
 * request shows.
 */
static int64_t own_revision(const struct nb_own_key *k, const struct nb_store_reply *r)
{
	if (r->succeeded)
		return k->sending ? r->revision : k->revision;
	for (size_t i = 0; i < r->nkv; i++)
		if (r->kv[i].op == k->op)
			return r->kv[i].mod_revision;
	return 0;
}

/* The store has answered the request about key @k, without an error. */
static void own_answered(struct nb_own *o, struct nb_own_key *k, const struct nb_store_reply *r)
{
	int64_t there = own_revision(k, r);

	if (k->sending && r->succeeded) {
		k->written = k->sent;
		k->clean = k->sent == k->wanted && o->sent_lease == o->lease;
	} else if (there != k->revision) {
		/* somebody else has changed the key, or the store has lost it
		 */
		k->clean = false;
	}
	k->revision = there;
}

static void own_done(void *arg, const struct nb_store_reply *r)
{
	struct nb_own *o = arg;

	o->busy = false;
	for (int i = 0; i < NB_OWN_KEYS; i++) {
		struct nb_own_key *k = &o->key[i];

		if (k->asked && !r->err)
			own_answered(o, k, r);
		k->asked = false;
	}
	o->failures = r->err ? o->failures + 1 : 0;
	if (!r->err)
		nb_own_flush(o);
}

/*
 * Send one request about all keys that are clean, or about all that are not.
 * The store compares the revisions of these keys. If all are as we know them,
 * it writes the keys that are not clean; otherwise it reads the keys.
 */
static void own_send(struct nb_own *o, bool clean)
{
	char name[NB_OWN_KEYS][NB_STORE_KEY_SIZE];
	struct nb_store_compare compare[NB_OWN_KEYS];
	struct nb_store_op put[NB_OWN_KEYS], get[NB_OWN_KEYS];
	struct nb_store_txn txn = { .compare = compare, .then = put, .otherwise = get };
	size_t n = 0;

	for (int i = 0; i < NB_OWN_KEYS; i++) {
		struct nb_own_key *k = &o->key[i];

		if (!k->want || k->clean != clean)
			continue;
		own_name(o, (enum nb_own_which)i, name[n]);
		compare[n] = (struct nb_store_compare){ .key = name[n], .revision = k->revision };
		get[n] = (struct nb_store_op){ .kind = NB_STORE_GET, .key = name[n] };
		put[n] = (struct nb_store_op){ .kind = NB_STORE_PUT,
					       .key = name[n],
					       .value = k->want,
					       .size = strlen(k->want),
					       .lease = o->lease };
		k->sending = !clean;
		k->sent = k->wanted;
		k->op = n++;
		k->asked = true;
	}
	txn.ncompare = txn.notherwise = n;
	txn.nthen = clean ? 0 : n;
	o->sent_lease = o->lease;
	o->busy = n && !nb_store_txn(o->store, &txn, own_done, o, NULL);
	for (int i = 0; i < NB_OWN_KEYS && !o->busy; i++)
		o->key[i].asked = false;
}

void nb_own_compare(struct nb_own *o)
{
	if (o->lease && !o->busy)
		own_send(o, true);
}

void nb_own_flush(struct nb_own *o)
{
	if (o->lease && !o->busy)
		own_send(o, false);
}

void nb_own_free(struct nb_own *o)
{
	for (int i = 0; i < NB_OWN_KEYS; i++) {
		free(o->key[i].want);
		o->key[i].want = NULL;
	}
}
