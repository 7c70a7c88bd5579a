// SPDX-License-Identifier: MIT
/*
 * What some changes do beside moving communicators (struct nb_coord_part):
 * keep a complete list of policies, carry out proposals of controllers, roll
 * back the candidate of a lost runner, start a job with its saved policies,
 * answer the request, and write the outcome to the audit entry.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "plugin/agent/coordinator/coordinator.h"
#include "plugin/controller/election.h"
#include "plugin/job/segment.h"
#include "plugin/runtime/wall_clock.h"

/* ---- complete lists of policies ---- */

/*
 * Returns true if @line makes the same generation whatever the processes had
 * before: it lists all policies of all communicators, or imports them.
 */
static bool use_is_complete(const char *line)
{
	return !strcmp(line, NB_COORD_IMPORT) ||
	       (!strncmp(line, "policy use ", 11) && !strchr(line, '=') &&
		strcmp(line + 11, "common") != 0);
}

/*
 * Keep the request for order/commit: processes and sites that join later read
 * it there.
 */
static int use_take(struct nb_coord *c, const json_t *request)
{
	const char *line = nb_view_str(request, "line");

	if (use_is_complete(line))
		c->use = json_pack("{s:s,s:O?,s:O*,s:s}", "line", line, "images",
				   json_object_get(request, "images"), "data",
				   json_object_get(request, "data"), "who",
				   nb_view_str(request, "who"));
	return 0;
}

static void use_commit(struct nb_coord *c, struct nb_coord_txn *t, json_t *commit)
{
	(void)t;
	if (c->use)
		json_object_update_missing(commit, c->use);
}

const struct nb_coord_part nb_coord_use = { .take = use_take, .commit = use_commit };

/*
 * ---- guards ----
 *
 * The runner of a rollout or sweep stores the request that restores the
 * baseline in the key guard/line before it puts the candidate in use, and holds
 * guard/runner with its lease. If the lease ends before the rollout, the
 * coordinator carries the request out, so no candidate stays in use without its
 * guards. Each request of the runner requires guard/runner, so a view without
 * this key shows all requests of the runner.
 */

enum { DOUBLED = 6 }; /* how often the delay doubles */

/*
 * Add operations to the transaction that delete @guard and record its outcome.
 * The transaction fails if a runner has registered meanwhile. @restored: the
 * job has its baseline, with generation @n
 */
static void guard_end(struct nb_coord *c, struct nb_coord_txn *t, const json_t *guard,
		      bool restored, int64_t n)
{
	const struct nb_view_key *k = nb_view_get(&c->a->view, "guard/line");
	char now[NB_UTC_TEXT];

	nb_coord_txn_compare(c, t, "guard/runner", 0);
	nb_coord_txn_delete(c, t, "guard/line", k ? k->mod : 0);
	nb_coord_txn_put(c, t, "guard/undone",
			 json_pack("{s:s,s:b,s:I,s:s,s:s}", "id", nb_view_str(guard, "id"),
				   "restored", restored, "n", (json_int_t)n, "site", c->a->name,
				   "time", nb_coord_time(now)),
			 0);
}

/*
 * Delete a guard without a change, because somebody else has changed the job or
 * the candidate was never in use.
 */
static bool guard_drop(struct nb_coord *c, const json_t *guard, int64_t n)
{
	struct nb_coord_txn *t = nb_coord_txn_new(c);

	if (!t)
		return false;
	guard_end(c, t, guard, n == nb_view_int(guard, "from"), n);
	return nb_coord_txn_send(c, t, NULL);
}

static bool guard_due(struct nb_coord *c)
{
	const struct nb_view *v = &c->a->view;
	const struct nb_view_key *k = nb_view_get(v, "guard/line");
	const struct nb_view_key *last = nb_view_get(v, "order/commit");
	int64_t n = last ? nb_view_int(last->value, "n") : 0;
	/* a store that has gone back may have lost a later change */
	int64_t made = nb_view_most(v, "site/", "change", n);
	uint64_t now = nb_agent_ms();
	json_t *request;

	if (!k || nb_view_get(v, "guard/runner")) {
		c->guard_tries = 0;
		return false;
	}
	if (c->guard_tries &&
	    now < c->guard_ms + (nb_agent_times.guard_retry / 2 << c->guard_tries))
		return false;
	if (!c->guard_tries)
		nb_agent_log("the runner of %s is lost", nb_view_str(k->value, "id"));
	c->guard_tries += c->guard_tries <= DOUBLED;
	c->guard_ms = now;
	if (!last || made != n ||
	    strcmp(nb_view_str(last->value, "rollout"), nb_view_str(k->value, "id")))
		return guard_drop(c, k->value, made);
	request = json_pack("{s:O?,s:O?,s:O}", "line", json_object_get(k->value, "line"), "images",
			    json_object_get(k->value, "images"), "guard", k->value);
	if (!request)
		return false;
	nb_coord_order(c, "", request);
	json_decref(request);
	return true;
}

static int guard_take(struct nb_coord *c, const json_t *request)
{
	if (!*c->request)
		c->guard = json_incref(json_object_get(request, "guard"));
	return 0;
}

static void guard_commit(struct nb_coord *c, struct nb_coord_txn *t, json_t *commit)
{
	(void)commit;
	if (!c->guard)
		return;
	guard_end(c, t, c->guard, true, c->n);
	nb_coord_audit_put(c, t, c->guard, "the runner is lost, so its candidate is rolled back");
}

const struct nb_coord_part nb_coord_guard = { .take = guard_take,
					      .commit = guard_commit,
					      .due = guard_due };

/*
 * ---- the policy with which jobs of this name start ----
 *
 * The key desired holds the request line, which the commands job set and policy
 * use start=yes write (member keep of a request). The coordinator applies it as
 * an ordinary change once all ranks of a communicator have registered, and
 * again when a site joins. A job that already ran when the key was made keeps
 * its policies. A site that joins later gets what the job has then: the change
 * in the key desired/applied, which applied the request to the running job, or
 * an operator's change in the key order/commit or order/state.
 */

const json_t *nb_desired_due(const struct nb_view *v)
{
	const struct nb_view_key *wish = nb_view_get(v, "desired");
	const struct nb_view_key *applied = nb_view_get(v, "desired/applied");
	const struct nb_view_key *last = nb_view_get(v, "order/commit");
	const json_t *state = nb_view_generation(v);
	bool fresh = false, ours = false, others = false, ran = false;

	for (size_t i = nb_view_first(v, "site/"); nb_view_below(v, i, "site/"); i++) {
		int64_t n = nb_view_int(v->at[i].value, "change");
		int64_t since = nb_view_int(v->at[i].value, "since");

		ran |= wish && since && since < wish->made;
		if (!n)
			fresh = true;
		else if (applied && n == nb_view_int(applied->value, "n"))
			ours = true;
		else if (last && n == nb_view_int(last->value, "n"))
			others = true;
		else
			/* an operator has changed the running job since */
			return NULL;
	}
	if (!fresh || (ours && others) || !nb_targets_started(v))
		return NULL;
	if (others)
		/* without a line, the store has no copy of the generation yet
		 */
		return *nb_view_str(state, "line") ? state : NULL;
	if (ours)
		return applied->value;
	return wish && !ran ? wish->value : NULL;
}

static bool start_due(struct nb_coord *c)
{
	const json_t *due = nb_desired_due(&c->a->view);
	json_t *request;

	if (!due)
		*c->start_why = '\0';
	if (!due || (c->start_ms && nb_agent_ms() < c->start_ms + nb_agent_times.start_retry))
		return false;
	c->start_ms = nb_agent_ms();
	request = json_pack("{s:O,s:O*,s:O*,s:O}", "line", json_object_get(due, "line"), "images",
			    json_object_get(due, "images"), "data", json_object_get(due, "data"),
			    "keep", due);
	if (!request) {
		snprintf(c->start_why, sizeof(c->start_why), "key desired has no line");
		return false;
	}
	nb_coord_order(c, "", request);
	json_decref(request);
	return true;
}

/*
 * Note whether the request also sets the policy of later jobs. Refuses one that
 * cannot be saved.
 */
static int start_take(struct nb_coord *c, const json_t *request)
{
	json_t *keep = json_object_get(request, "keep");
	const char *line = nb_view_str(request, "line");

	if (!keep)
		return 0;
	if (!json_is_object(keep) || strcmp(nb_view_str(keep, "line"), line) ||
	    !json_equal(json_object_get(keep, "images"), json_object_get(request, "images")) ||
	    strcmp(nb_view_str(keep, "data"), nb_view_str(request, "data")) ||
	    !use_is_complete(line))
		return nb_fail(
			&c->err, NB_E_ARG, 0,
			"a job can only start with a complete list of policies: policy use NAME... "
			"without comm=");
	c->start = json_incref(keep);
	return 0;
}

static void start_commit(struct nb_coord *c, struct nb_coord_txn *t, json_t *commit)
{
	json_t *applied;

	(void)commit;
	if (!c->start)
		return;
	applied = json_deep_copy(c->start);
	json_object_set_new(applied, "n", json_integer(c->n));
	nb_coord_txn_put(c, t, "desired/applied", applied, 0);
	if (*c->request)
		nb_coord_txn_put(c, t, "desired", json_incref(c->start), 0);
	else
		nb_coord_audit_put(c, t, c->start, "the job starts with it");
}

const struct nb_coord_part nb_coord_start = { .take = start_take,
					      .commit = start_commit,
					      .due = start_due };

/* ---- replies ---- */

static json_t *success_value(const struct nb_coord *c)
{
	return json_pack("{s:b,s:b,s:I,s:s,s:I,s:i,s:i,s:o}", "ok", 1, "check", c->check, "n",
			 (json_int_t)c->n, "digest", c->digest, "time_us",
			 (json_int_t)(nb_agent_ms() - c->began_ms) * 1000, "tries", (int)c->tries,
			 "same", (int)c->targets.same, "comms",
			 c->bare ? json_array() : nb_targets_report(&c->targets, c->check));
}

static json_t *failure_value(struct nb_coord *c)
{
	return json_pack("{s:b,s:s,s:o,s:o,s:o}", "ok", 0, "error", nb_err_word(c->err.code),
			 "text", nb_view_text(c->err.text), "hint", nb_view_text(c->err.hint),
			 "sites", c->sites && !c->bare ? json_incref(c->sites) : json_array());
}

static void reply_end(struct nb_coord *c, struct nb_coord_txn *t, bool committed)
{
	const struct nb_view_key *k;
	char key[160];

	(void)committed;
	if (!*c->request)
		return;
	snprintf(key, sizeof(key), "reply/%s", c->request);
	nb_coord_txn_put(c, t, key, c->err.code ? failure_value(c) : success_value(c), c->a->lease);
	snprintf(key, sizeof(key), "request/%s", c->request);
	k = nb_view_get(&c->a->view, key);
	if (k) /* the shell has not withdrawn it */
		nb_coord_txn_delete(c, t, key, k->mod);
}

const struct nb_coord_part nb_coord_reply = { .end = reply_end };

/*
 * ---- audit entries ----
 *
 * The shell creates the entry of a request together with the request. The
 * transaction that commits the change also writes its outcome, so the entry
 * stays correct if the shell or the coordinator dies. The coordinator itself
 * creates the entries of changes by controllers, with their outcomes. They have
 * fixed keys, so the newest overwrites the oldest.
 */

enum { KEY = 120 };

/* beginning of the names of controllers' entries; a number follows */
static const char audit_names[] = "controllers-";

/*
 * Returns true if @name has the form of an audit entry's name, so that no other
 * key can be written.
 */
static bool audit_is_name(const char *name)
{
	size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyz"
				"ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789:.-");

	return n && n < KEY && !name[n];
}

/*
 * Keep the facts that the audit entry needs, and the user who made the request:
 * its member maker, or the user who saved the policy with which the job starts.
 */
static int audit_take(struct nb_coord *c, const json_t *request)
{
	const json_t *maker = json_object_get(request, "maker");
	const json_t *keep = c->guard ? c->guard : json_object_get(request, "keep");

	if (request && audit_is_name(nb_view_str(request, "audit")))
		c->audit = json_deep_copy(request);
	if (c->by_controllers)
		snprintf(c->maker, sizeof(c->maker), "controllers");
	else if (maker)
		snprintf(c->maker, sizeof(c->maker), "%s", nb_view_str(maker, "text"));
	else
		snprintf(c->maker, sizeof(c->maker), "%s,%s,,", nb_view_str(keep, "who"),
			 c->a->host);
	return 0;
}

/* Write the entry of c->audit. */
static void audit_entry(struct nb_coord *c, struct nb_coord_txn *t, const char *outcome)
{
	static const char *const members[] = { "time", "who",	   "from",  "line",  "images",
					       "why",  "readable", "maker", "change" };
	json_t *entry = json_object();
	char key[KEY + 8];

	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
		json_t *v = json_object_get(c->audit, members[i]);

		if (v)
			json_object_set(entry, members[i], v);
	}
	json_object_set_new(entry, "request", json_string(c->request));
	json_object_set_new(entry, "outcome", nb_view_text(outcome));
	snprintf(key, sizeof(key), "audit/%s", nb_view_str(c->audit, "audit"));
	nb_coord_txn_put(c, t, key, entry, 0);
}

bool nb_coord_audit_fixed(const char *name)
{
	return !strncmp(name, audit_names, sizeof(audit_names) - 1);
}

/* Make the audit entry of a change of controllers. @order counts these changes. */
static void audit_order(struct nb_coord *c, struct nb_coord_txn *t, json_t *order)
{
	const struct nb_view *v = &c->a->view;
	const struct nb_view_key *stage = nb_view_get(v, "order/stage");
	const struct nb_view_key *commit = nb_view_get(v, "order/commit");
	int64_t n = stage ? nb_view_int(stage->value, "controllers") : 0;
	char now[NB_UTC_TEXT], name[32], why[64];

	(void)t;
	/* the key may be damaged */
	if (n < 0 || n >= INT64_MAX)
		n = 0;
	n += c->by_controllers;
	if (n)
		json_object_set_new(order, "controllers", json_integer(n));
	if (!c->by_controllers)
		return;
	snprintf(name, sizeof(name), "%s%02d", audit_names, (int)(n % NB_COORD_CONTROLLERS));
	snprintf(why, sizeof(why), "proposed by process %" PRIu64,
		 nb_election_read(c->a->site.seg).pid);
	c->audit = json_pack("{s:s,s:s,s:s,s:s,s:O*,s:s,s:I,s:{s:O*}}", "audit", name, "time",
			     nb_coord_time(now), "who", "controllers", "from", c->a->name, "line",
			     json_object_get(order, "line"), "why", why, "change", (json_int_t)n,
			     "maker", "rollout",
			     commit ? json_object_get(commit->value, "rollout") : NULL);
}

static void audit_commit(struct nb_coord *c, struct nb_coord_txn *t, json_t *commit)
{
	json_t *rollout = json_object_get(json_object_get(c->audit, "maker"), "rollout");
	char text[64];

	if (!c->audit)
		return;
	if (rollout && !c->by_controllers)
		json_object_set(commit, "rollout", rollout);
	snprintf(text, sizeof(text), "committed as generation %" PRId64, c->n);
	audit_entry(c, t, text);
}

static void audit_end(struct nb_coord *c, struct nb_coord_txn *t, bool committed)
{
	char text[512];

	if (!c->audit || !c->err.code || c->bare)
		return; /* the committing transaction has written the outcome */
	if (committed)
		snprintf(text, sizeof(text), "committed as generation %" PRId64 ": %s", c->n,
			 c->err.text);
	else
		snprintf(text, sizeof(text), "refused: %s", c->err.text);
	audit_entry(c, t, text);
}

const char *nb_coord_time(char text[NB_UTC_TEXT])
{
	return nb_utc_text(text, nb_wall_us() / 1000000 * 1000000000, 3);
}

void nb_coord_audit_put(struct nb_coord *c, struct nb_coord_txn *t, const json_t *request,
			const char *why)
{
	char key[96], outcome[64], now[NB_UTC_TEXT];

	nb_coord_time(now);
	snprintf(key, sizeof(key), "audit/%s-agent-%" PRId64, now, c->n);
	snprintf(outcome, sizeof(outcome), "committed as generation %" PRId64, c->n);
	nb_coord_txn_put(c, t, key,
			 json_pack("{s:s,s:s,s:s,s:s,s:O?,s:s,s:s}", "time", now, "who",
				   nb_view_str(request, "who"), "from", c->a->name, "line",
				   nb_view_str(request, "line"), "images",
				   json_object_get(request, "images"), "why", why, "outcome",
				   outcome),
			 0);
}

const struct nb_coord_part nb_coord_audit = {
	.take = audit_take, .order = audit_order, .commit = audit_commit, .end = audit_end
};
