// SPDX-License-Identifier: MIT
/*
 * Writes the outcome of a request into its audit entry, which the shell created
 * together with the request. The transaction that commits a change also writes
 * its outcome, so the entry stays correct if the shell or the coordinator dies.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "plugin/agent/coord.h"
#include "plugin/runtime/wall_clock.h"

enum { KEY = 120 };

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

static void put_outcome(struct nb_coord *c, struct nb_coord_txn *t,
			const char *outcome)
{
	static const char *const members[] = { "time",	   "who",    "from",
					       "line",	   "images", "why",
					       "readable", "maker" };
	json_t *entry = json_object();
	char key[KEY + 8];

	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
		json_t *v = json_object_get(c->audit, members[i]);

		if (v)
			json_object_set(entry, members[i], v);
	}
	json_object_set_new(entry, "request", json_string(c->request));
	json_object_set_new(entry, "outcome", json_string(outcome));
	snprintf(key, sizeof(key), "audit/%s", nb_view_str(c->audit, "audit"));
	nb_coord_txn_put(c, t, key, entry, 0);
}

void nb_coord_audit_commit(struct nb_coord *c, struct nb_coord_txn *t)
{
	char text[64];

	if (!c->audit)
		return;
	snprintf(text, sizeof(text), "committed as generation %" PRId64, c->n);
	put_outcome(c, t, text);
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
	put_outcome(c, t, text);
}

const char *nb_coord_time(char *text, size_t size)
{
	time_t now = (time_t)(nb_wall_us() / 1000000);
	struct tm tm;

	if (!gmtime_r(&now, &tm) ||
	    !strftime(text, size, "%Y-%m-%dT%H:%M:%S.000Z", &tm))
		*text = '\0';
	return text;
}

void nb_coord_audit_put(struct nb_coord *c, struct nb_coord_txn *t,
			const json_t *request, const char *why)
{
	char key[96], outcome[64], now[32];

	if (!*nb_coord_time(now, sizeof(now)))
		return;
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
