// SPDX-License-Identifier: MIT
/*
 * Deletes old keys of the job from the store, which would otherwise grow
 * without limit. In each family of keys, the newest keys stay, and so do keys
 * that another key names. A shell stores an image before the request that names
 * the image, so the image must be among the newest until then. A key that is
 * written meanwhile stays, because the transaction compares its revision.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "plugin/agent/coord.h"
#include "plugin/runtime/params.h"

enum {
	SWEEP_CHANGES = 32, /* number of requests between two sweeps */
	KEEP_IMAGES = 128,
	KEEP_REPLIES = 64,
	KEEP_RECORDS = 1024,
	/*
	 * most deletes in a transaction; one operation is the compare of the
	 * coordinator's key
	 */
	DELETES = NB_COORD_OPS - 1
};

enum family { IMAGE, AUDIT, REPLY, REQUEST, RECORD, MEMBERS, ENDED };

static const char *const prefixes[] = { "image/",   "audit/",	     "reply/",
					"request/", "order/record/", "members/",
					"ended/" };
enum { FAMILIES = sizeof(prefixes) / sizeof(prefixes[0]) };

/* The keys of one family, in the order of the store's reply. */
struct keys {
	const struct nb_store_kv *at;
	size_t n;
	size_t skip; /* length of the prefix of all keys */
};

/*
 * A group of keys in the store that are deleted together. An image consists of
 * all its keys: image/DIGEST and image/DIGEST/N.
 */
struct thing {
	size_t first, end; /* range of the group's keys in the reply */
	int64_t age;	   /* newest revision of these keys */
	bool kept;
};

static struct keys keys_of(const struct nb_coord *c,
			   const struct nb_store_reply *r, enum family f)
{
	size_t first = 0, end;

	while (first < r->nkv && r->kv[first].op != (unsigned)f)
		first++;
	for (end = first; end < r->nkv && r->kv[end].op == (unsigned)f;)
		end++;
	return (struct keys){ r->kv + first, end - first,
			      strlen(c->a->own.prefix) + strlen(prefixes[f]) };
}

static size_t name_size(const struct keys *k, size_t i)
{
	return strcspn(k->at[i].key + k->skip, "/");
}

static bool value_names(const json_t *o, const char *digest)
{
	const json_t *images = json_object_get(o, "images");

	for (size_t i = 0; i < json_array_size(images); i++)
		if (!strcmp(nb_view_str(json_array_get(images, i), "digest"),
			    digest))
			return true;
	return !strcmp(nb_view_str(o, "data"), digest);
}

/* Returns true if the desired state, an order or a request names the image. */
static bool image_is_named(const struct nb_view *v, const char *digest)
{
	static const char *const from[] = { "desired",	    "order/stage",
					    "order/commit", "order/state",
					    "request/",	    "guard/line" };

	for (size_t f = 0; f < sizeof(from) / sizeof(from[0]); f++)
		for (size_t i = nb_view_first(v, from[f]);
		     nb_view_below(v, i, from[f]); i++)
			if (value_names(v->at[i].value, digest))
				return true;
	return false;
}

/* Returns true if a site has ranks of the communicator. */
static bool comm_is_named(const struct nb_view *v, const char *id)
{
	char prefix[40];

	snprintf(prefix, sizeof(prefix), "comm/%.16s/", id);
	return nb_view_below(v, nb_view_first(v, prefix), prefix);
}

static bool is_named(const struct nb_coord *c, enum family f, const char *name)
{
	char key[160];

	switch (f) {
	case IMAGE:
		return image_is_named(&c->a->view, name);
	case REQUEST:
		/*
		 * the view lacks a request that is not a JSON object, which is
		 * never answered, like one with a wrong name
		 */
		snprintf(key, sizeof(key), "request/%s", name);
		return nb_coord_request_valid(name) &&
		       nb_view_get(&c->a->view, key) != NULL;
	case RECORD:
	case MEMBERS:
		return comm_is_named(&c->a->view, name);
	case AUDIT:
		return nb_coord_audit_fixed(name);
	case REPLY:
	case ENDED:
		return false;
	}
	return true;
}

static size_t keep_of(enum family f)
{
	switch (f) {
	case IMAGE:
		return KEEP_IMAGES;
	case AUDIT:
		return (size_t)nb_params.num[NB_P_FLEET_AUDIT];
	case REPLY:
	case REQUEST:
		return KEEP_REPLIES;
	case RECORD:
	case MEMBERS:
	case ENDED:
		break;
	}
	return KEEP_RECORDS;
}

/*
 * Returns the revision that measures the age of a key. Audit entries and
 * records change later, so their creation counts. For other keys the last
 * change counts: an image that is stored again is new, and so is a site that
 * has ended again.
 */
static int64_t age_of(const struct nb_store_kv *kv, enum family f)
{
	return f == IMAGE || f == ENDED ? kv->mod_revision
					: kv->create_revision;
}

static size_t find_things(const struct nb_coord *c, enum family f,
			  const struct keys *k, struct thing *t)
{
	size_t n = 0;

	for (size_t i = 0; i < k->n; n++) {
		size_t first = i, size = name_size(k, i);
		char name[128];

		t[n] = (struct thing){ .first = first };
		for (; i < k->n && name_size(k, i) == size &&
		       !strncmp(k->at[i].key, k->at[first].key, k->skip + size);
		     i++)
			if (age_of(&k->at[i], f) > t[n].age)
				t[n].age = age_of(&k->at[i], f);
		t[n].end = i;
		snprintf(name, sizeof(name), "%.*s", (int)size,
			 k->at[first].key + k->skip);
		t[n].kept = is_named(c, f, name);
	}
	return n;
}

/*
 * Sorts by age, the newest first. All keys of a transaction have the same
 * revision.
 */
static int newer_first(const void *a, const void *b)
{
	const struct thing *x = *(const struct thing *const *)a;
	const struct thing *y = *(const struct thing *const *)b;

	if (x->age != y->age)
		return y->age > x->age ? 1 : -1;
	return y->first > x->first ? 1 : -1;
}

/*
 * Of the groups that no other key names, keep the newest @keep and mark the
 * others for deletion.
 */
static void keep_newest(struct thing *t, size_t n, size_t keep)
{
	struct thing **list = malloc((n + 1) * sizeof(*list));
	size_t left = 0;

	for (size_t i = 0; list && i < n; i++)
		if (!t[i].kept)
			list[left++] = &t[i];
	if (left > 1)
		qsort(list, left, sizeof(*list), newer_first);
	for (size_t i = 0; i < n && !list; i++)
		t[i].kept = true;
	for (size_t i = 0; i < left && i < keep; i++)
		list[i]->kept = true;
	free(list);
}

/*
 * Add the deletion of @t to the transaction. Returns false if the transaction
 * is full.
 */
static bool delete_thing(struct nb_coord *c, struct nb_coord_txn *t,
			 const struct keys *k, const struct thing *x)
{
	size_t skip = strlen(c->a->own.prefix);

	for (size_t i = x->first; i < x->end; i++) {
		if (t->nop == DELETES)
			return false;
		nb_coord_txn_compare(c, t, k->at[i].key + skip,
				     k->at[i].mod_revision);
		nb_coord_txn_delete(c, t, k->at[i].key + skip);
	}
	return true;
}

static void sweep_family(struct nb_coord *c, const struct nb_store_reply *r,
			 enum family f, struct nb_coord_txn *txn)
{
	struct keys k = keys_of(c, r, f);
	struct thing *t = k.n > keep_of(f) ? calloc(k.n, sizeof(*t)) : NULL;
	size_t n;

	if (!t)
		return;
	n = find_things(c, f, &k, t);
	keep_newest(t, n, keep_of(f));
	for (size_t i = 0; i < n; i++)
		if (!t[i].kept && !delete_thing(c, txn, &k, &t[i]))
			break;
	free(t);
}

/*
 * Returns the coordinator that waits for this reply, or NULL if it is outdated.
 * A sweep may fail; the next one tries again.
 */
static struct nb_coord *sweep_reply(void *arg)
{
	struct nb_coord_call *call = arg;
	struct nb_coord *c = call->round == call->c->round ? call->c : NULL;

	free(call);
	if (c)
		c->state = NB_COORD_IDLE;
	return c;
}

static void deleted(void *arg, const struct nb_store_reply *r)
{
	struct nb_coord *c = sweep_reply(arg);

	if (c && !r->err && r->succeeded)
		/* more keys may be left, so the next sweep is due at once */
		c->sweep_ms = 0;
}

static void listed(void *arg, const struct nb_store_reply *r)
{
	struct nb_coord *c = sweep_reply(arg);
	struct nb_coord_txn *t;

	if (!c || r->err)
		return;
	t = nb_coord_txn_new(c);
	for (int f = 0; t && f < FAMILIES; f++)
		sweep_family(c, r, (enum family)f, t);
	if (!t || !t->nop) {
		if (t)
			nb_coord_txn_free(t);
		return;
	}
	nb_agent_log("%zu old keys of job %s are deleted from the store",
		     t->nop, c->a->dir.job);
	nb_coord_enter(c, NB_COORD_CLEANING, 0);
	nb_coord_txn_send(c, t, deleted);
}

void nb_coord_sweep(struct nb_coord *c)
{
	struct nb_store_op op[FAMILIES];
	struct nb_store_txn txn = { .then = op, .nthen = FAMILIES };
	struct nb_coord_call *call;
	char key[FAMILIES][160];

	if (c->sweep_ms && c->unswept < SWEEP_CHANGES &&
	    nb_agent_ms() < c->sweep_ms + nb_agent_times.sweep)
		return;
	call = malloc(sizeof(*call));
	if (!call)
		return;
	c->sweep_ms = nb_agent_ms();
	c->unswept = 0;
	*call = (struct nb_coord_call){ c, c->round };
	for (int f = 0; f < FAMILIES; f++) {
		snprintf(key[f], sizeof(key[f]), "%s%s", c->a->own.prefix,
			 prefixes[f]);
		op[f] = (struct nb_store_op){ .kind = NB_STORE_GET_PREFIX,
					      .key = key[f],
					      .keys_only = true };
	}
	nb_coord_enter(c, NB_COORD_CLEANING, 0);
	if (!nb_store_txn(c->a->store, &txn, listed, call, NULL))
		return;
	free(call);
	c->state = NB_COORD_IDLE;
}
