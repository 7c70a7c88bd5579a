// SPDX-License-Identifier: MIT
/*
 * The agent's copy of the job's keys: read from the store, then kept by watches
 * or, for the family order/, by the link to the coordinator.
 */
#include <stdlib.h>
#include <string.h>

#include "plugin/agent/agent.h"
#include "plugin/agent/gather.h"
#include "plugin/job/segment.h"

static const char *const families[] = { "order/",  "site/",    "staged/",
					"comm/",   "seen/",    "request/",
					"desired", "members/", "ended/",
					"guard/" };
/* Agents other than the coordinator's watch only the first family of keys. */
enum { NARROW = 1, ALL = sizeof(families) / sizeof(families[0]) };
_Static_assert(ALL == sizeof(((struct nb_agent *)0)->watch) /
			       sizeof(struct nb_store_watch *),
	       "one watch a family");

/*
 * Another writer has damaged a key. Treat a damaged order as an empty one,
 * because the coordinator needs its revision to write it again. The agents
 * write the keys of their sites again (plugin/agent/own.h).
 */
static void enter_damaged(struct nb_agent *a, const char *key,
			  const struct nb_store_kv *kv)
{
	nb_agent_log("%s is not a JSON object and is ignored", kv->key);
	if (!strncmp(key, "order/", 6) || !strncmp(key, "members/", 8))
		(void)nb_view_put(&a->view, key, "{}", 2, kv->create_revision,
				  kv->mod_revision);
}

enum { SITES = 9000 }; /* a larger number of sites is an error */

/* Adapt time limits to the number of sites that the last order names. */
static void note_sites(struct nb_agent *a)
{
	const struct nb_view_key *k = nb_view_get(&a->view, "order/stage");
	int64_t n = k ? nb_view_int(k->value, "sites") : 0;

	a->sites = n > 0 && n < SITES ? (unsigned)n : 0;
	nb_store_set_timeout(a->store,
			     NB_AGENT_STORE_MS + (unsigned)nb_agent_crowd(a));
}

/* Returns true if @key is an answer of a site. */
static bool is_answer(const char *key)
{
	return !strncmp(key, "staged/", 7) || !strncmp(key, "seen/", 5);
}

/* Enter the answer @key of the store, unless the view has a newer one. */
static void enter_answer(struct nb_agent *a, const char *key,
			 const struct nb_store_kv *kv)
{
	json_t *o = kv->deleted ? NULL
				: json_loadb(kv->value, kv->size,
					     JSON_REJECT_DUPLICATES, NULL);

	if (json_is_object(o)) {
		nb_view_put_answer(&a->view, key, o, kv->create_revision,
				   kv->mod_revision);
	} else {
		nb_view_remove(&a->view, key);
		nb_gather_restore(a->gather, key);
		if (!kv->deleted)
			enter_damaged(a, key, kv);
	}
	json_decref(o);
}

/* A key of order/ has changed. */
static void note_order(struct nb_agent *a, const char *key, int64_t mod)
{
	a->orders_due = true;
	if (mod > a->order_rev)
		a->order_rev = mod;
	if (!strncmp(key, "order/record/", 13))
		a->copies_due = true;
	if (!strcmp(key, "order/stage"))
		note_sites(a);
}

static void enter_key(struct nb_agent *a, const struct nb_store_kv *kv)
{
	const char *key = kv->key + strlen(a->own.prefix);
	int64_t mod = kv->mod_revision;

	if (strncmp(kv->key, a->own.prefix, strlen(a->own.prefix)))
		return;
	nb_agent_revision(a, mod);
	if (is_answer(key)) {
		enter_answer(a, key, kv);
		return;
	}
	if (!strncmp(key, "request/", 8) && kv->create_revision > a->requests)
		a->requests = kv->create_revision;
	if (kv->deleted)
		nb_view_remove(&a->view, key);
	else if (!nb_view_put(&a->view, key, kv->value, kv->size,
			      kv->create_revision, mod))
		enter_damaged(a, key, kv);
	if (!strncmp(key, "site/", 5))
		nb_gather_site(a->gather, key + 5);
	if (strncmp(key, "order/", 6) != 0)
		return;
	if (kv->deleted && mod > a->order_gone)
		a->order_gone = mod;
	note_order(a, key, mod);
}

/* Remove the keys of order/ that @list lacks. */
static void remove_others(struct nb_agent *a, const json_t *list)
{
	for (size_t i = nb_view_first(&a->view, "order/");
	     nb_view_below(&a->view, i, "order/");) {
		const char *key = a->view.at[i].key;
		bool there = false;

		for (size_t k = 0; k < json_array_size(list) && !there; k++)
			there = !strcmp(
				key,
				nb_view_str(json_array_get(list, k), "key"));
		if (there)
			i++;
		else
			nb_view_remove(&a->view, key);
	}
}

void nb_agent_news(struct nb_agent *a, const json_t *reply)
{
	const json_t *list = json_object_get(reply, "order");
	int64_t before = a->order_rev, rev = nb_view_int(reply, "rev");

	if (rev < before)
		return;
	if (json_is_true(json_object_get(reply, "list")))
		remove_others(a, list);
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *o = json_array_get(list, i);
		const char *key = nb_view_str(o, "key");
		int64_t mod = nb_view_int(o, "mod");
		json_t *value = json_object_get(o, "value");

		if (mod <= before || strncmp(key, "order/", 6) != 0 ||
		    !json_is_object(value))
			continue;
		nb_view_put_json(&a->view, key, value, nb_view_int(o, "made"),
				 mod);
		note_order(a, key, mod);
	}
	a->order_rev = rev;
	/* a record may have been deleted */
	a->orders_due = a->copies_due = true;
}

void nb_agent_unwatch(struct nb_agent *a)
{
	nb_store_unwatch(a->watch[0]);
	a->watch[0] = NULL;
}

static void follow_end(struct nb_agent *a)
{
	for (size_t i = 0; i < ALL; i++) {
		nb_store_unwatch(a->watch[i]);
		a->watch[i] = NULL;
	}
	a->round++;
	a->follow = NB_AGENT_LOST;
}

static void watch_report(void *arg, const struct nb_store_watch_report *r)
{
	struct nb_agent *a = arg;

	switch (r->state) {
	case NB_STORE_WATCH_OPEN:
		break;
	case NB_STORE_WATCH_EVENTS:
		for (size_t i = 0; i < r->nkv; i++)
			enter_key(a, &r->kv[i]);
		break;
	case NB_STORE_WATCH_BROKEN:
		/*
		 * the store may be restored from a backup: a watch that resumes
		 * at a revision beyond its last one would miss what it does
		 * next
		 */
	case NB_STORE_WATCH_LOST:
	case NB_STORE_WATCH_FAILED:
		/*
		 * do not read the keys from within the watch's callback, but on
		 * the next round
		 */
		nb_agent_failed(a, r->err);
		a->follow = NB_AGENT_LOST;
		break;
	}
}

/*
 * The store's revision is below an earlier one: the store was restored from a
 * backup, or has lost its data. The links still bring the lost answers.
 */
static void gone_back(struct nb_agent *a, uint64_t to)
{
	struct nb_seg_agent *self = &a->site.seg->mem->agent;

	nb_agent_log(
		"the store has gone back from revision %llu to %llu: was it restored from a "
		"backup? Repeat what it has lost: changes, saved policies. Audit entries are gone",
		(unsigned long long)self->revision, (unsigned long long)to);
	self->back_to = to;
	__atomic_store_n(&self->back_from, self->revision, __ATOMIC_RELEASE);
	self->revision = to;
	nb_site_suspect(&a->site);
	nb_own_lease(&a->own, a->lease);
	if (!a->gather)
		return;
	nb_coord_reset(a->coord);
	nb_agent_unserve(a);
}

struct reading {
	struct nb_agent *a;
	uint64_t round;
};

static void follow_read(void *arg, const struct nb_store_reply *r)
{
	struct reading *reading = arg;
	struct nb_agent *a = reading->a;
	bool old = reading->round != a->round;

	free(reading);
	if (old)
		return;
	if (r->err) {
		nb_agent_failed(a, r->err);
		a->follow = NB_AGENT_LOST;
		return;
	}
	if ((uint64_t)r->revision < a->site.seg->mem->agent.revision)
		gone_back(a, (uint64_t)r->revision);
	nb_agent_revision(a, r->revision);
	nb_view_clear(&a->view);
	a->requests = 0;
	nb_site_forget(&a->site, r->revision);
	for (size_t i = 0; i < r->nkv; i++)
		enter_key(a, &r->kv[i]);
	/* it is unknown which keys have been deleted before */
	a->order_rev = a->order_gone = r->revision;
	if (a->gather)
		nb_own_enter(&a->own, &a->view);
	nb_gather_reread(a->gather);
	a->copies_due = a->orders_due = true;
	a->follow = NB_AGENT_FOLLOWING;
	nb_agent_state(a, true, "");
	for (size_t i = 0; i < (a->whole ? ALL : NARROW); i++) {
		a->watch[i] =
			nb_store_watch(a->store, nb_agent_key(a, families[i]),
				       r->revision + 1, watch_report, a, NULL);
		if (!a->watch[i])
			a->follow = NB_AGENT_LOST;
	}
}

void nb_agent_follow(struct nb_agent *a, bool whole)
{
	struct nb_store_op op[ALL];
	char key[ALL][192];
	struct nb_store_txn txn = { .then = op, .nthen = whole ? ALL : NARROW };
	struct reading *reading = malloc(sizeof(*reading));

	follow_end(a);
	a->whole = whole;
	a->follow_ms = nb_agent_ms();
	if (!reading)
		return;
	*reading = (struct reading){ a, a->round };
	for (size_t i = 0; i < txn.nthen; i++) {
		snprintf(key[i], sizeof(key[i]), "%s%s", a->own.prefix,
			 families[i]);
		op[i] = (struct nb_store_op){ .kind = NB_STORE_GET_PREFIX,
					      .key = key[i] };
	}
	a->follow = NB_AGENT_READING;
	if (!nb_store_txn(a->store, &txn, follow_read, reading, NULL))
		return;
	free(reading);
	a->follow = NB_AGENT_LOST;
}
