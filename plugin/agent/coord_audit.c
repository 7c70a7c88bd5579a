// SPDX-License-Identifier: MIT
/*
 * Writes the outcome of a request into its audit entry, which the shell created
 * together with the request. The transaction that commits a change also writes
 * its outcome, so the entry stays correct if the shell or the coordinator dies.
 * The coordinator itself creates the entries of changes by controllers, with
 * the order to stage. They have fixed keys, so the newest overwrites the
 * oldest.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "plugin/agent/coord.h"
#include "plugin/controller/election.h"
#include "plugin/runtime/wall_clock.h"

enum { KEY = 120 };

/* beginning of the names of controllers' entries; a number follows */
static const char fixed[] = "controllers-";

/*
 * Returns true if @name has the form of an audit entry's name, so that no other
 * key can be written.
 */
static bool is_name(const char *name)
{
	size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyz"
				"ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789:.-");

	return n && n < KEY && !name[n];
}

void nb_coord_audit_take(struct nb_coord *c, const json_t *request)
{
	json_decref(c->audit);
	c->audit = NULL;
	if (request && is_name(nb_view_str(request, "audit")))
		c->audit = json_deep_copy(request);
}

void nb_coord_maker_take(struct nb_coord *c, const json_t *request)
{
	const json_t *maker = json_object_get(request, "maker");
	const json_t *keep =
		c->guard ? c->guard : json_object_get(request, "keep");

	if (c->by_controllers)
		snprintf(c->maker, sizeof(c->maker), "controllers");
	else if (maker)
		snprintf(c->maker, sizeof(c->maker), "%s",
			 nb_view_str(maker, "text"));
	else
		snprintf(c->maker, sizeof(c->maker), "%s,%s,,",
			 nb_view_str(keep, "who"), c->a->host);
}

/* Write the entry of c->audit. @outcome: NULL: the change is in progress */
static void put_entry(struct nb_coord *c, struct nb_coord_txn *t,
		      const char *outcome)
{
	static const char *const members[] = { "time",	   "who",    "from",
					       "line",	   "images", "why",
					       "readable", "maker",  "change" };
	json_t *entry = json_object();
	char key[KEY + 8];

	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
		json_t *v = json_object_get(c->audit, members[i]);

		if (v)
			json_object_set(entry, members[i], v);
	}
	json_object_set_new(entry, "request", json_string(c->request));
	if (outcome)
		json_object_set_new(entry, "outcome", nb_view_text(outcome));
	snprintf(key, sizeof(key), "audit/%s", nb_view_str(c->audit, "audit"));
	nb_coord_txn_put(c, t, key, entry, 0);
}

bool nb_coord_audit_fixed(const char *name)
{
	return !strncmp(name, fixed, sizeof(fixed) - 1);
}

void nb_coord_audit_order(struct nb_coord *c, struct nb_coord_txn *t,
			  json_t *order)
{
	const struct nb_view *v = &c->a->view;
	const struct nb_view_key *stage = nb_view_get(v, "order/stage");
	const struct nb_view_key *commit = nb_view_get(v, "order/commit");
	int64_t n = stage ? nb_view_int(stage->value, "controllers") : 0;
	char now[NB_UTC_TEXT], name[32], why[64];

	/* the key may be damaged */
	if (n < 0 || n >= INT64_MAX)
		n = 0;
	n += c->by_controllers;
	if (n)
		json_object_set_new(order, "controllers", json_integer(n));
	if (!c->by_controllers)
		return;
	snprintf(name, sizeof(name), "%s%02d", fixed,
		 (int)(n % NB_COORD_CONTROLLERS));
	snprintf(why, sizeof(why), "proposed by process %" PRIu64,
		 nb_election_read(c->a->site.seg).pid);
	json_decref(c->audit);
	c->audit = json_pack(
		"{s:s,s:s,s:s,s:s,s:O*,s:s,s:I,s:{s:O*}}", "audit", name,
		"time", nb_coord_time(now), "who", "controllers", "from",
		c->a->name, "line", json_object_get(order, "line"), "why", why,
		"change", (json_int_t)n, "maker", "rollout",
		commit ? json_object_get(commit->value, "rollout") : NULL);
	if (!c->audit)
		return;
	put_entry(c, t, NULL);
	/* for nb_coord_audit_undecided */
	json_object_set(order, "entry", c->audit);
}

void nb_coord_audit_undecided(struct nb_coord *c, struct nb_coord_txn *t)
{
	const struct nb_view_key *k = nb_view_get(&c->a->view, "order/stage");
	json_t *entry = k ? json_object_get(k->value, "entry") : NULL;
	int64_t n = k ? nb_view_int(k->value, "n") : 0;

	for (int i = 0; i < 2; i++) {
		const struct nb_view_key *end = nb_view_get(
			&c->a->view, i ? "order/commit" : "order/drop");

		const json_t *o = end ? json_object_get(end->value, "n") : NULL;

		/* of a damaged key it is unknown what it decided */
		if (end && (!json_is_integer(o) || json_integer_value(o) >= n))
			return;
	}
	if (!entry || !is_name(nb_view_str(entry, "audit")))
		return;
	json_decref(c->audit);
	c->audit = json_incref(entry);
	*c->request = '\0';
	put_entry(
		c, t,
		"refused: the coordinator was interrupted before the change was decided");
	nb_coord_txn_put(c, t, "order/drop",
			 json_pack("{s:I}", "n", (json_int_t)n), 0);
}

void nb_coord_audit_commit(struct nb_coord *c, struct nb_coord_txn *t)
{
	char text[64];

	if (!c->audit)
		return;
	snprintf(text, sizeof(text), "committed as generation %" PRId64, c->n);
	put_entry(c, t, text);
}

void nb_coord_audit_end(struct nb_coord *c, struct nb_coord_txn *t,
			bool committed)
{
	char text[512];

	if (!c->audit || !c->err.code)
		return; /* the committing transaction has written the outcome */
	if (committed)
		snprintf(text, sizeof(text),
			 "committed as generation %" PRId64 ": %s", c->n,
			 c->err.text);
	else
		snprintf(text, sizeof(text), "refused: %s", c->err.text);
	put_entry(c, t, text);
}

const char *nb_coord_time(char text[NB_UTC_TEXT])
{
	return nb_utc_text(text, nb_wall_us() / 1000000 * 1000000000, 3);
}

void nb_coord_audit_put(struct nb_coord *c, struct nb_coord_txn *t,
			const json_t *request, const char *why)
{
	char key[96], outcome[64], now[NB_UTC_TEXT];

	nb_coord_time(now);
	snprintf(key, sizeof(key), "audit/%s-agent-%" PRId64, now, c->n);
	snprintf(outcome, sizeof(outcome), "committed as generation %" PRId64,
		 c->n);
	nb_coord_txn_put(c, t, key,
			 json_pack("{s:s,s:s,s:s,s:s,s:O?,s:s,s:s}", "time",
				   now, "who", nb_view_str(request, "who"),
				   "from", c->a->name, "line",
				   nb_view_str(request, "line"), "images",
				   json_object_get(request, "images"), "why",
				   why, "outcome", outcome),
			 0);
}
