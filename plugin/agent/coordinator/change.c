// SPDX-License-Identifier: MIT
/*
 * The steps of a change: a request, or a catch-up for communicators that lack
 * the job's generation. Each step is a transaction that compares the revisions
 * of the records and, where the sites' keys decide, that these have not changed
 * since the view. So a change has one outcome even if an agent dies
 * (test/model/fleet.pml).
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plugin/agent/coordinator/coordinator.h"
#include "plugin/job/fence.h"
#include "plugin/runtime/clock.h"

enum {
	/* time in which a rank at the fence must announce that it waits */
	AT_MS = 20,
	TRIES = 5,
	/* in ns: if a check of all sites takes longer, a pause follows */
	SHORT_LOOK_NS = 200000,
	/* length of the pause, as a multiple of the check's duration */
	LOOK_PAUSE = 3
};

void nb_coord_enter(struct nb_coord *c, enum nb_coord_state s, uint64_t ms)
{
	c->state = s;
	c->deadline = nb_agent_ms() + ms;
}

void nb_coord_change_free(struct nb_coord *c)
{
	nb_targets_free(&c->targets);
	json_decref(c->sites);
	json_decref(c->start);
	json_decref(c->use);
	json_decref(c->members);
	json_decref(c->audit);
	json_decref(c->guard);
	c->sites = c->start = c->members = c->audit = c->use = c->guard = NULL;
	c->err.code = 0;
	c->tries = 0;
	c->taken = c->bare = false;
}

/* ---- the end of a change ---- */

static void change_ended(struct nb_coord *c, const struct nb_store_reply *r)
{
	(void)r;
	if (c->err.code && !c->by_controllers &&
	    (!c->start || *c->request ||
	     strncmp(c->start_why, c->err.text, sizeof(c->start_why) - 1)))
		nb_agent_log("change %" PRId64 ": %s", c->n, c->err.text);
	if (c->start && !*c->request)
		snprintf(c->start_why, sizeof(c->start_why), "%.199s",
			 c->err.code ? c->err.text : "");
	c->unswept += *c->request != '\0';
	nb_coord_change_free(c);
	c->state = NB_COORD_IDLE;
}

/* Report the end of the change in fewer words. */
static void end_refused(struct nb_coord *c)
{
	if (c->bare) {
		nb_agent_log("change %" PRId64 " cannot be ended: %s", c->n, c->refusal.text);
		c->lost = true;
		return;
	}
	c->bare = true;
	nb_coord_end(c, c->ended);
}

void nb_coord_end(struct nb_coord *c, bool committed)
{
	struct nb_coord_txn *t = nb_coord_txn_new(c);

	if (!t)
		return;
	c->ended = committed;
	t->refused = end_refused;
	if (!committed)
		nb_coord_txn_put(c, t, "order/drop", json_pack("{s:I}", "n", (json_int_t)c->n), 0);
	for (int i = 0; i < NB_COORD_PARTS; i++)
		if (nb_coord_parts[i]->end)
			nb_coord_parts[i]->end(c, t, committed);
	if (t->nop) {
		(void)nb_coord_txn_send(c, t, change_ended);
		return;
	}
	nb_coord_txn_free(t);
	change_ended(c, NULL);
}

/* End the change with an error. @hint: "" if there is none */
static void change_refuse(struct nb_coord *c, int code, const char *text, const char *hint)
{
	struct nb_err err = { .code = 0 };

	/*
	 * copy @text first: it may point into c->err, which is overwritten
	 * below
	 */
	nb_fail(&err, code, 0, "%s", text);
	if (*hint)
		nb_hint(&err, "%s", hint);
	c->err = err;
	nb_coord_end(c, false);
}

/* Note that the store has refused a transaction of the change. */
static void note_refusal(struct nb_coord *c)
{
	nb_fail(&c->err, c->refusal.code, 0, "the store has refused the change: %s",
		c->refusal.text);
	if (*c->refusal.hint)
		nb_hint(&c->err, "%s", c->refusal.hint);
}

/* The store has refused a step of the change. No fence is armed. */
static void step_refused(struct nb_coord *c)
{
	if (c->catch_up)
		c->late_ms = nb_agent_ms() + nb_agent_times.catch_missed;
	note_refusal(c);
	nb_coord_end(c, false);
}

/* ---- order ---- */

/*
 * Returns the number of the next change. An order's key may be damaged, or the
 * store may have lost it, so read what the sites say too. If the store has lost
 * their keys as well, a number may be used twice until they write them again.
 */
static int64_t next_n(const struct nb_coord *c)
{
	const struct nb_view *v = &c->a->view;
	int64_t most = nb_view_most(v, "order/stage", "n", 0);

	most = nb_view_most(v, "order/commit", "n", most);
	most = nb_view_most(v, "order/drop", "n", most);
	most = nb_view_most(v, "site/", "change", most);
	return nb_view_most(v, "answer/", "n", most) + 1;
}

static void change_ordered(struct nb_coord *c, const struct nb_store_reply *r)
{
	c->order_rev = r->revision;
	nb_coord_enter(c, NB_COORD_STAGING, nb_agent_times.stage + nb_agent_crowd(c->a));
}

/*
 * Check if_generation= of a request against the fleet's generation number,
 * which is the same on all sites.
 */
static int change_expected(struct nb_coord *c, const json_t *request)
{
	const struct nb_view_key *k = nb_view_get(&c->a->view, "order/commit");
	const json_t *expected = json_object_get(request, "expected");
	int64_t n = k ? nb_view_int(k->value, "n") : 0;

	if (!json_is_integer(expected) || json_integer_value(expected) == n)
		return 0;
	nb_fail(&c->err, NB_E_STALE, 0,
		"the job has generation %" PRId64 " (allowed: %lld, as if_generation says)", n,
		(long long)json_integer_value(expected));
	return nb_hint(&c->err, "list shows the generation; audit says who changed it");
}

/*
 * Record the names of the registered sites. These sites must take part in the
 * change until it ends.
 */
static void keep_members(struct nb_coord *c)
{
	const struct nb_view *v = &c->a->view;

	json_decref(c->members);
	c->members = json_array();
	for (size_t i = nb_view_first(v, "site/"); nb_view_below(v, i, "site/"); i++)
		json_array_append_new(c->members, json_string(v->at[i].key + 5));
}

/*
 * Refuse a request that a store restored from a backup shows again: it may have
 * been carried out before.
 */
static int change_is_new(struct nb_coord *c)
{
	uint64_t to = c->a->site.seg->mem->agent.back_to;
	char key[sizeof(c->request) + 8];
	const struct nb_view_key *k;

	snprintf(key, sizeof(key), "request/%s", c->request);
	k = nb_view_get(&c->a->view, key);
	if (!*c->request || !k || (uint64_t)k->made > to)
		return 0;
	nb_fail(&c->err, NB_E_STALE, 0, "the store has gone back since this request was made");
	return nb_hint(&c->err,
		       "status shows what the job runs; repeat the request if it lacks it");
}

static int parts_take(struct nb_coord *c, const json_t *request)
{
	int rc = 0;

	/* even of a change that is refused, its audit entry needs the facts */
	for (int i = 0; i < NB_COORD_PARTS; i++)
		if (nb_coord_parts[i]->take)
			rc |= nb_coord_parts[i]->take(c, request);
	return rc;
}

/*
 * Ask all parts to take the change. Returns 0, or an error in c->err if it is
 * refused.
 */
static int change_take(struct nb_coord *c, const json_t *request)
{
	size_t size = json_dumpb(request, NULL, 0, JSON_COMPACT);
	int rc = parts_take(c, request);

	if (size > NB_COORD_REQUEST)
		rc = nb_fail(&c->err, NB_E_LIMIT, 0, "the request has %zu bytes (allowed: %d)",
			     size, NB_COORD_REQUEST);
	if (!rc)
		rc = change_is_new(c);
	return rc ? rc : change_expected(c, request);
}

/* Returns the value of order/stage. */
static json_t *order_value(struct nb_coord *c, const char *id, const json_t *request)
{
	static const char *const ours[] = { "keep", "guard", "controllers" };
	json_t *order = request ? json_deep_copy(request) : json_object();

	for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++)
		json_object_del(order, ours[i]);
	json_object_set_new(order, "n", json_integer(c->n));
	json_object_set_new(order, "id", json_integer(c->order_id));
	json_object_set_new(order, "request", json_string(id));
	json_object_set_new(order, "sites", json_integer(c->a->sites));
	return order;
}

void nb_coord_order(struct nb_coord *c, const char *id, const json_t *request)
{
	struct nb_coord_txn *t;
	json_t *order;

	nb_coord_change_free(c);
	keep_members(c);
	c->n = next_n(c);
	c->order_id = nb_record_draw();
	c->gen_n = 0;
	c->began_ms = c->wait_ms = nb_agent_ms();
	snprintf(c->request, sizeof(c->request), "%s", id);
	c->catch_up = !request;
	c->check = json_is_true(json_object_get(request, "check"));
	if (change_take(c, request)) {
		nb_coord_end(c, false);
		return;
	}
	c->a->sites = (unsigned)json_array_size(c->members);
	t = nb_coord_txn_new(c);
	if (!t)
		return;
	order = order_value(c, id, request);
	for (int i = 0; i < NB_COORD_PARTS; i++)
		if (nb_coord_parts[i]->order)
			nb_coord_parts[i]->order(c, t, order);
	nb_coord_txn_put(c, t, "order/stage", order, 0);
	t->refused = step_refused;
	(void)nb_coord_txn_send(c, t, change_ordered);
}

bool nb_coord_resume(struct nb_coord *c, const char *id, const json_t *request)
{
	const struct nb_view_key *k = nb_view_get(&c->a->view, "order/commit");

	if (!k || strcmp(nb_view_str(k->value, "request"), id))
		return false;
	nb_coord_change_free(c);
	c->n = nb_view_int(k->value, "n");
	c->check = c->catch_up = false;
	c->began_ms = c->wait_ms = nb_agent_ms();
	snprintf(c->request, sizeof(c->request), "%s", id);
	snprintf(c->digest, sizeof(c->digest), "%s", nb_view_str(k->value, "digest"));
	c->order_rev = k->mod;
	(void)parts_take(c, request);
	c->err.code = 0;
	(void)nb_targets_find(&c->targets, &c->a->view, c->digest); /* for the report */
	nb_coord_enter(c, NB_COORD_SETTLING, nb_agent_times.settle + nb_agent_crowd(c->a));
	return true;
}

/* ---- stage ---- */

static void note_site(struct nb_coord *c, const char *site, const char *text, const char *hint)
{
	if (!c->sites)
		c->sites = json_array();
	json_array_append_new(c->sites,
			      json_pack("{s:s,s:s,s:s}", "site", site, "text", text, "hint", hint));
}

/*
 * Count the sites of the order whose agent's lease has ended since the order
 * was written. Their ranks still make decisions, so the change cannot ignore
 * these sites.
 */
static size_t count_left(struct nb_coord *c, bool note)
{
	size_t n = 0;

	for (size_t i = 0; i < json_array_size(c->members); i++) {
		const char *name = json_string_value(json_array_get(c->members, i));

		if (nb_view_at_site(&c->a->view, "site", name) ||
		    nb_view_ended(&c->a->view, name, c->order_rev))
			continue;
		n++;
		if (note)
			note_site(c, name,
				  "the agent's lease has ended since the change was ordered",
				  "start the site's agent, then try again");
	}
	return n;
}

/*
 * Returns true if the site has answered a change that the store has lost, so
 * that it ignores the order. @answer: value of answer/SITE
 */
static bool answers_another(const struct nb_coord *c, const json_t *answer)
{
	int64_t n = nb_view_int(answer, "n");

	return n > c->n || (n == c->n && nb_view_int(answer, "id") != c->order_id);
}

/* Count the sites that have staged change c->n, and all sites (*@sites). */
static size_t count_staged(struct nb_coord *c, size_t *sites, bool note)
{
	const struct nb_view *v = &c->a->view;
	size_t n = 0;

	*sites = 0;
	*c->digest = '\0';
	for (size_t i = nb_view_first(v, "site/"); nb_view_below(v, i, "site/"); i++, (*sites)++) {
		const char *name = v->at[i].key + 5;
		const json_t *k;
		const char *digest;

		k = nb_view_at_site(v, "answer", name);
		if (answers_another(c, k)) {
			note_site(c, name, "has answered a change that the store has lost",
				  "try again");
			continue;
		}
		if (nb_view_int(k, "n") != c->n) {
			if (note)
				note_site(c, name, "has not answered", "");
			continue;
		}
		n++;
		digest = nb_view_str(k, "digest");
		if (!strcmp(nb_view_str(k, "state"), "failed"))
			note_site(c, name, nb_view_str(k, "text"), nb_view_str(k, "hint"));
		else if (strspn(digest, "0123456789abcdef") != 64 || digest[64])
			note_site(c, name, "the site's answer has no digest", "");
		else if (!*c->digest)
			snprintf(c->digest, sizeof(c->digest), "%s", digest);
		else if (strcmp(c->digest, digest))
			note_site(c, name,
				  "the site's processes held other policies "
				  "or map contents before the change",
				  "");
	}
	return n;
}

static void refuse_sites(struct nb_coord *c, int code)
{
	const json_t *first = json_array_get(c->sites, 0);
	char text[360];

	snprintf(text, sizeof(text), "site %s: %s", nb_view_str(first, "site"),
		 nb_view_str(first, "text"));
	change_refuse(c, code, text, nb_view_str(first, "hint"));
}

/*
 * Look again in a later round. Returns false if the change has waited long
 * enough.
 */
static bool look_again(struct nb_coord *c)
{
	return nb_agent_ms() < c->wait_ms + nb_agent_times.away;
}

/*
 * Is there a site that has ranks of a communicator and has left? The change
 * then waits for the site, or is refused.
 */
static bool wait_for_ranks(struct nb_coord *c)
{
	char why[240];

	if (c->catch_up)
		return false;
	if (!nb_groups_registered(&c->a->view) && look_again(c))
		return true;
	if (nb_groups_whole(&c->a->view, why, sizeof(why)))
		return false;
	if (!look_again(c))
		change_refuse(
			c, NB_E_BUSY, why,
			"try again when the site's agent has registered; list shows the sites");
	return true;
}

/* ---- arm ---- */

/*
 * Add what a commit writes beside the records: order/commit, and what the parts
 * add.
 */
static void put_commit(struct nb_coord *c, struct nb_coord_txn *t)
{
	json_t *o = json_pack("{s:I,s:s,s:s,s:o}", "n", (json_int_t)c->n, "digest", c->digest,
			      "request", c->request, "maker", nb_view_text(c->maker));

	for (int i = 0; i < NB_COORD_PARTS; i++)
		if (nb_coord_parts[i]->commit)
			nb_coord_parts[i]->commit(c, t, o);
	nb_coord_txn_put(c, t, "order/commit", o, 0);
	t->commits = true;
}

static void change_settled(struct nb_coord *c, const struct nb_store_reply *r)
{
	(void)r;
	nb_coord_enter(c, NB_COORD_SETTLING, nb_agent_times.settle + nb_agent_crowd(c->a));
}

static void change_armed(struct nb_coord *c, const struct nb_store_reply *r)
{
	c->tries++;
	c->commit = false;
	nb_targets_armed(&c->targets, r->revision);
	nb_coord_enter(c, NB_COORD_ARMED, nb_agent_times.answer + nb_agent_crowd(c->a));
}

/*
 * No communicator that spans sites is to be moved, so there is no fence to arm.
 */
static void commit_without_fence(struct nb_coord *c, struct nb_coord_txn *t)
{
	if (c->catch_up) {
		nb_coord_txn_free(t);
		nb_coord_end(c, true);
		return;
	}
	put_commit(c, t);
	t->refused = step_refused;
	(void)nb_coord_txn_send(c, t, change_settled);
}

/* The change was armed TRIES times in vain. */
static void refuse_tries(struct nb_coord *c)
{
	if (c->taken && c->catch_up)
		c->late_ms = nb_agent_ms() + nb_agent_times.catch_late;
	if (c->taken)
		change_refuse(c, NB_E_BUSY,
			      "ranks waited too long at every fence for the answers of all sites; "
			      "nothing has changed",
			      "doctor shows which agents or stores are slow");
	else
		change_refuse(c, NB_E_BUSY,
			      "ranks passed every fence before the change was decided; "
			      "nothing has changed",
			      "");
}

/* Arm the fences of the change's communicators, or commit without any. */
static void change_arm(struct nb_coord *c)
{
	struct nb_coord_txn *t;
	char why[200];
	bool any = false;

	if (!nb_targets_ready(&c->targets, &c->a->view, why, sizeof(why))) {
		/* all sites may have answered a record that was written again */
		if (nb_coord_recovery.due(c))
			return;
		if (!look_again(c))
			change_refuse(c, NB_E_BUSY, why, "try again");
		return;
	}
	t = nb_coord_txn_new(c);
	if (!t)
		return;
	/*
	 * a site may have registered a second communicator with the identity of
	 * one, and would mistake the record of the first for its own
	 */
	nb_coord_txn_facts(c, t);
	c->lead_ms = nb_coord_lead_ms(c);
	nb_targets_choose(&c->targets, &c->a->view, c->tries, c->lead_ms);
	for (size_t i = 0; i < c->targets.n; i++) {
		struct nb_target *x = &c->targets.at[i];

		if (*x->why)
			continue;
		any = true;
		nb_coord_txn_compare(c, t, x->record, x->mod);
		nb_coord_txn_put(c, t, x->record, nb_target_record(x, "armed", c->gen_n, c->digest),
				 0);
	}
	c->arming_ms = nb_agent_ms();
	if (!any) {
		commit_without_fence(c, t);
	} else if (c->tries == TRIES) {
		nb_coord_txn_free(t);
		refuse_tries(c);
	} else {
		t->refused = step_refused;
		(void)nb_coord_txn_send(c, t, change_armed);
	}
}

/*
 * All sites have staged the same generation: answer a dry run, else arm the
 * fences.
 */
static void change_staged(struct nb_coord *c)
{
	const struct nb_view_key *k = nb_view_get(&c->a->view, "order/commit");

	if (!c->tries)
		c->stage_ms = nb_agent_ms() - c->began_ms;
	c->gen_n = c->n;
	/* a catch-up uses the number that the generation already has */
	if (c->catch_up)
		c->gen_n = k && !strcmp(nb_view_str(k->value, "digest"), c->digest)
				   ? nb_view_int(k->value, "n")
				   : 0;
	if (!nb_targets_find(&c->targets, &c->a->view, c->digest)) {
		if (c->catch_up)
			c->late_ms = nb_agent_ms() + nb_agent_times.catch_missed;
		change_refuse(c, NB_E_NOMEM, "no memory for the communicators of the change", "");
		return;
	}
	if (wait_for_ranks(c))
		return;
	/* a refusal may have been decided on an older view */
	c->err.code = 0;
	if (c->check)
		nb_coord_end(c, false);
	else
		change_arm(c);
}

static void step_staging(struct nb_coord *c)
{
	size_t sites, n, left;
	bool late = nb_agent_ms() >= c->deadline;
	bool soon = nb_agent_ms() < c->wait_ms + nb_agent_times.away;

	json_decref(c->sites);
	c->sites = NULL;
	n = count_staged(c, &sites, late);
	left = count_left(c, late || !soon);
	if ((n < sites || left) && !late && !c->sites)
		return;
	if (n < sites || c->sites)
		refuse_sites(c, n < sites && late ? NB_E_TIMEOUT : left ? NB_E_BUSY : NB_E_REFUSED);
	else if (!sites)
		change_refuse(c, NB_E_REFUSED, "no site of the job is registered", "");
	else
		change_staged(c);
}

/* ---- decide ---- */

/*
 * The fences are rolled back: refuse the change, or try farther ones. The sites
 * have staged already.
 */
static void rolled_back(struct nb_coord *c)
{
	c->wait_ms = nb_agent_ms();
	if (c->err.code)
		change_refuse(c, c->err.code, c->err.text, c->err.hint);
	else if (c->tries == TRIES)
		refuse_tries(c);
	else
		nb_coord_enter(c, NB_COORD_STAGING, nb_agent_times.stage);
}

static void change_decided(struct nb_coord *c, const struct nb_store_reply *r)
{
	if (!c->commit) {
		rolled_back(c);
	} else if (c->catch_up) {
		nb_targets_committed(&c->targets);
		nb_coord_end(c, true);
	} else {
		change_settled(c, r);
	}
}

static void commit_refused(struct nb_coord *c);

/*
 * Commit the change for all its communicators, or roll back all of them whose
 * records are still armed.
 */
static void change_decide(struct nb_coord *c, bool commit)
{
	struct nb_coord_txn *t = nb_coord_txn_new(c);

	if (!t)
		return;
	c->commit = commit;
	for (size_t i = 0; i < c->targets.n; i++) {
		struct nb_target *x = &c->targets.at[i];
		const struct nb_view_key *k = nb_view_get(&c->a->view, x->record);

		if (*x->why || (!commit && (!k || k->mod != x->mod)))
			continue;
		nb_coord_txn_compare(c, t, x->record, x->mod);
		nb_coord_txn_put(c, t, x->record,
				 commit ? nb_target_record(x, "commit", c->gen_n, c->digest)
					: nb_target_back(x),
				 0);
	}
	if (commit)
		nb_coord_txn_facts(c, t);
	if (commit && !c->catch_up)
		put_commit(c, t);
	if (commit)
		t->refused = commit_refused;
	if (t->nop) {
		(void)nb_coord_txn_send(c, t, change_decided);
		return;
	}
	nb_coord_txn_free(t);
	rolled_back(c);
}

/* Roll the change back and refuse it. c->err has the reason. */
static void give_up(struct nb_coord *c)
{
	if (c->catch_up)
		c->late_ms = nb_agent_ms() + nb_agent_times.catch_missed;
	change_decide(c, false);
}

/* The store has refused to commit. */
static void commit_refused(struct nb_coord *c)
{
	note_refusal(c);
	give_up(c);
}

/*
 * Commit, unless a site has left since the fences were armed. Wait a moment for
 * it: its agent may only be replaced.
 */
static void commit_whole(struct nb_coord *c)
{
	char why[240];

	if (c->catch_up || nb_groups_whole(&c->a->view, why, sizeof(why))) {
		if (!c->commit)
			nb_coord_answered(c);
		c->err.code = 0;
		change_decide(c, true);
		return;
	}
	if (nb_agent_ms() < c->deadline)
		return;
	nb_fail(&c->err, NB_E_BUSY, 0, "%s; nothing has changed", why);
	give_up(c);
}

/* A rank has passed its fence or has rolled it back: try another. */
static void fence_failed(struct nb_coord *c, bool taken)
{
	c->taken = taken;
	nb_coord_answered(c);
	change_decide(c, false);
}

static void step_armed(struct nb_coord *c)
{
	const char *site = "";
	uint64_t now = nb_agent_ms();

	switch (nb_targets_stand(&c->targets, &c->a->view, &site)) {
	case NB_TARGETS_BELOW:
		commit_whole(c);
		break;
	case NB_TARGETS_AT:
		if (now >= c->arming_ms + c->lead_ms + AT_MS)
			fence_failed(c, false);
		break;
	case NB_TARGETS_BEYOND:
		fence_failed(c, false);
		break;
	case NB_TARGETS_UNKNOWN:
		if (now < c->deadline)
			break;
		nb_fail(&c->err, NB_E_BUSY, 0,
			"site %s has not answered for %" PRIu64 " ms; nothing has changed", site,
			nb_agent_times.answer + nb_agent_crowd(c->a));
		give_up(c);
		break;
	case NB_TARGETS_UNSTAGED:
		nb_fail(&c->err, NB_E_BUSY, 0,
			"site %s: a process that started during the change has not staged it; "
			"nothing has changed",
			site);
		give_up(c);
		break;
	case NB_TARGETS_TAKEN:
		/* a rank has waited too long: its site has rolled it back */
		fence_failed(c, true);
		break;
	}
}

/*
 * Wait until the sites have committed the communicators whose ranks are all on
 * one site. The change is already decided. If a site could not commit it, tell
 * the operator.
 */
static void step_settling(struct nb_coord *c)
{
	const json_t *first;
	json_t *left;
	bool waits;

	if (!c->members) /* an earlier coordinator committed this change */
		keep_members(c);
	left = nb_targets_unsettled(&c->a->view, c->members, c->n, c->order_rev, &waits);
	if (waits && nb_agent_ms() < c->deadline) {
		json_decref(left);
		return;
	}
	nb_targets_committed(&c->targets);
	first = json_array_get(left, 0);
	if (first) {
		json_decref(c->sites);
		c->sites = json_incref(left);
		nb_fail(&c->err, waits ? NB_E_TIMEOUT : NB_E_REFUSED, 0,
			"the change is committed, but site %s has not followed: %s",
			nb_view_str(first, "site"), nb_view_str(first, "text"));
	}
	json_decref(left);
	nb_coord_end(c, true);
}

/*
 * Each answer of a site makes the coordinator check the answers of all sites,
 * which takes time in proportion to their number. Pauses after long checks
 * limit the checks to a quarter of the time. Otherwise the cost of a change
 * would grow with the square of the number of sites.
 */
void nb_coord_step(struct nb_coord *c)
{
	uint64_t start = nb_clock_thread(), ns;

	if (nb_clock_system() < c->look_ns)
		return;
	switch (c->state) {
	case NB_COORD_STAGING:
		step_staging(c);
		break;
	case NB_COORD_ARMED:
		step_armed(c);
		break;
	case NB_COORD_SETTLING:
		step_settling(c);
		break;
	case NB_COORD_IDLE:
		return;
	}
	ns = nb_clock_thread() - start;
	if (ns > SHORT_LOOK_NS)
		c->look_ns = nb_clock_system() + LOOK_PAUSE * ns;
}
