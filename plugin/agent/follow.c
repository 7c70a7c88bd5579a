// SPDX-License-Identifier: MIT
/*
 * The agent's copy of the job's keys: read from the store, then kept by
 * watches.
 */
#include <stdlib.h>
#include <string.h>

#include "plugin/agent/agent.h"
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
	nb_store_set_timeout(
		a->store, (unsigned)(nb_agent_times.store + nb_agent_crowd(a)));
}

/* A key of order/ has changed. */
static void note_order(struct nb_agent *a, const char *key)
{
	a->orders_due = true;
	if (!strncmp(key, "order/record/", 13))
		a->copies_due = true;
	if (!strcmp(key, "order/stage"))
		note_sites(a);
}

static void enter_key(struct nb_agent *a, const struct nb_store_kv *kv)
{
	const char *key = kv->key + strlen(a->own.prefix);

	if (strncmp(kv->key, a->own.prefix, strlen(a->own.prefix)))
		return;
	nb_agent_revision(a, kv->mod_revision);
	if (!strncmp(key, "request/", 8) && kv->create_revision > a->requests)
		a->requests = kv->create_revision;
	if (kv->deleted)
		nb_view_remove(&a->view, key);
	else if (!nb_view_put(&a->view, key, kv->value, kv->size,
			      kv->create_revision, kv->mod_revision))
		enter_damaged(a, key, kv);
	if (!strncmp(key, "order/", 6))
		note_order(a, key);
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
 * backup, or has lost its data.
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
