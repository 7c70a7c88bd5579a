// SPDX-License-Identifier: MIT
/*
 * The coordinator makes one change at a time: a request, or a catch-up for
 * communicators that lack the job's generation. Each step is a store
 * transaction that compares the revisions of the records. A coordinator that
 * has lost its lease can therefore decide nothing, and a change has one outcome
 * even if an agent dies (test/model/fleet.pml).
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plugin/agent/coord.h"
#include "plugin/agent/group.h"
#include "plugin/job/fence.h"
#include "plugin/runtime/clock.h"

enum {
	/* time in which a rank at the fence must announce that it waits */
	AT_MS = 20,
	TRIES = 5,
	/* in ns: if a check of all sites takes longer, a pause follows */
	SHORT_LOOK_NS = 200000,
	/* length of the pause, as a multiple of the check's duration */
	LOOK_PAUSE = 3,
	/* A larger change number means that the key is damaged. */
	MAX_NUMBER = INT32_MAX
};

struct nb_coord *nb_coord_new(struct nb_agent *a)
{
	struct nb_coord *c = calloc(1, sizeof(*c));

	if (c)
		c->a = a;
	return c;
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
}

void nb_coord_free(struct nb_coord *c)
{
	if (!c)
		return;
	nb_coord_change_free(c);
	nb_coord_saving_free(c->saving);
	json_decref(c->proposed);
	json_decref(c->written);
	json_decref(c->notes);
	free(c);
}

void nb_coord_reset(struct nb_coord *c)
{
	nb_coord_change_free(c);
	nb_coord_proposal_end(c, c->proposal,
			      "the coordinator was interrupted");
	nb_coord_saving_free(c->saving);
	c->saving = NULL;
	c->round++;
	c->state = NB_COORD_IDLE;
	c->key_mod = 0;
	c->recovered = false;
}

bool nb_coord_busy(const struct nb_coord *c)
{
	return c->proposed || c->state == NB_COORD_STAGING ||
	       c->state == NB_COORD_ARMED || c->state == NB_COORD_SETTLING;
}

static void answered(void *arg, const struct nb_store_reply *r)
{
	struct nb_coord *c = nb_coord_reply(arg, r);
	char key[160];

	if (!c)
		return;
	/* the watch may report the deleted request after this reply */
	snprintf(key, sizeof(key), "request/%s", c->request);
	nb_view_remove(&c->a->view, key);
	nb_coord_change_free(c);
	c->state = NB_COORD_IDLE;
}

static json_t *success_value(const struct nb_coord *c)
{
	return json_pack("{s:b,s:b,s:I,s:s,s:I,s:i,s:i,s:o}", "ok", 1, "check",
			 c->check, "n", (json_int_t)c->n, "digest", c->digest,
			 "time_us",
			 (json_int_t)(nb_agent_ms() - c->began_ms) * 1000,
			 "tries", (int)c->tries, "same", (int)c->targets.same,
			 "comms", nb_targets_report(&c->targets, c->check));
}

static json_t *failure_value(struct nb_coord *c)
{
	return json_pack("{s:b,s:s,s:o,s:o,s:o}", "ok", 0, "error",
			 nb_err_word(c->err.code), "text",
			 nb_view_text(c->err.text), "hint",
			 nb_view_text(c->err.hint), "sites",
			 c->sites ? json_incref(c->sites) : json_array());
}

void nb_coord_answer(struct nb_coord *c, bool committed)
{
	struct nb_coord_txn *t = nb_coord_txn_new(c);
	char key[160];

	if (!t)
		return;
	if (c->by_controllers)
		nb_coord_proposal_end(c, c->proposal,
				      c->err.code ? c->err.text : "");
	else if (c->err.code && (!c->start || *c->request ||
				 strncmp(c->start_why, c->err.text, 199)))
		nb_agent_log("change %" PRId64 ": %s", c->n, c->err.text);
	if (c->start && !*c->request)
		snprintf(c->start_why, sizeof(c->start_why), "%.199s",
			 c->err.code ? c->err.text : "");
	if (!committed)
		nb_coord_txn_put(c, t, "order/drop",
				 json_pack("{s:I}", "n", (json_int_t)c->n), 0);
	if (*c->request) {
		c->unswept++;
		snprintf(key, sizeof(key), "reply/%s", c->request);
		nb_coord_txn_put(c, t, key,
				 c->err.code ? failure_value(c)
					     : success_value(c),
				 c->a->lease);
		snprintf(key, sizeof(key), "request/%s", c->request);
		nb_coord_txn_delete(c, t, key);
	}
	nb_coord_audit_end(c, t, committed);
	if (!t->nop) {
		nb_coord_txn_free(t);
		nb_coord_change_free(c);
		c->state = NB_COORD_IDLE;
		return;
	}
	nb_coord_enter(c, NB_COORD_ANSWERING, 0);
	nb_coord_txn_send(c, t, answered);
}

void nb_coord_refuse(struct nb_coord *c, int code, const char *text,
		     const char *hint)
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
	nb_coord_answer(c, false);
}

static int64_t next_n(const struct nb_coord *c)
{
	static const char *const keys[] = { "order/stage", "order/commit",
					    "order/drop" };
	const struct nb_view *v = &c->a->view;
	int64_t most = 0;

	for (int i = 0; i < 3; i++) {
		const struct nb_view_key *k = nb_view_get(v, keys[i]);
		int64_t n = k ? nb_view_int(k->value, "n") : 0;

		if (n > most && n < MAX_NUMBER)
			most = n;
	}
	/*
	 * an order's key may be damaged, or the store may have lost it, so read
	 * what the sites say too: no change number may be used twice
	 */
	for (size_t i = nb_view_first(v, "site/"); nb_view_below(v, i, "site/");
	     i++) {
		int64_t n = nb_view_int(v->at[i].value, "change");

		if (n > most && n < MAX_NUMBER)
			most = n;
	}
	for (size_t i = nb_view_first(v, "staged/");
	     nb_view_below(v, i, "staged/"); i++) {
		int64_t n = nb_view_int(v->at[i].value, "n");

		if (n > most && n < MAX_NUMBER)
			most = n;
	}
	return most + 1;
}

static void ordered(void *arg, const struct nb_store_reply *r)
{
	struct nb_coord *c = nb_coord_reply(arg, r);

	if (!c)
		return;
	c->order_rev = r->revision;
	nb_coord_enter(c, NB_COORD_STAGING,
		       nb_agent_times.stage + nb_agent_crowd(c->a));
}

/*
 * Check if_generation= of a request against the fleet's generation number,
 * which is the same on all sites.
 */
static int check_expected(struct nb_coord *c, const json_t *request)
{
	const struct nb_view_key *k = nb_view_get(&c->a->view, "order/commit");
	const json_t *expected = json_object_get(request, "expected");
	int64_t n = k ? nb_view_int(k->value, "n") : 0;

	if (!json_is_integer(expected) || json_integer_value(expected) == n)
		return 0;
	nb_fail(&c->err, NB_E_STALE, 0,
		"the job has generation %" PRId64
		" (allowed: %lld, as if_generation says)",
		n, (long long)json_integer_value(expected));
	return nb_hint(&c->err,
		       "list shows the generation; audit says who changed it");
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
	for (size_t i = nb_view_first(v, "site/"); nb_view_below(v, i, "site/");
	     i++)
		json_array_append_new(c->members,
				      json_string(v->at[i].key + 5));
}

/* Returns the request's ID, or which of the coordinator's own changes it is. */
static const char *name_of(const struct nb_coord *c)
{
	if (*c->request)
		return c->request;
	if (c->catch_up)
		return "catch-up";
	if (c->by_controllers)
		return "controllers";
	return c->guard ? "guard" : "start";
}

void nb_coord_order_stage(struct nb_coord *c, const char *id,
			  const json_t *request)
{
	struct nb_coord_txn *t;
	json_t *order;

	nb_coord_change_free(c);
	keep_members(c);
	c->n = next_n(c);
	c->gen_n = 0;
	c->began_ms = nb_agent_ms();
	snprintf(c->request, sizeof(c->request), "%s", id);
	c->catch_up = !request;
	c->check = json_is_true(json_object_get(request, "check"));
	/* a request of the store is never one of controllers */
	c->by_controllers =
		!*id && json_is_true(json_object_get(request, "controllers"));
	nb_coord_audit_take(c, request);
	nb_coord_guard_take(c, request);
	nb_coord_maker_take(c, request);
	nb_coord_use_take(c, request);
	if (!strcmp(c->taken, name_of(c)))
		c->tries = c->taken_tries;
	c->taken_tries = 0;
	if (nb_coord_start_take(c, request) || check_expected(c, request)) {
		nb_coord_answer(c, false);
		return;
	}
	t = nb_coord_txn_new(c);
	order = request ? json_deep_copy(request) : json_object();
	if (!t || !order) {
		if (t)
			nb_coord_txn_free(t);
		json_decref(order);
		return;
	}
	json_object_del(order, "keep");
	json_object_del(order, "guard");
	json_object_del(order, "controllers");
	json_object_del(order, "entry");
	json_object_set_new(order, "n", json_integer(c->n));
	json_object_set_new(order, "request", json_string(id));
	c->a->sites = (unsigned)json_array_size(c->members);
	json_object_set_new(order, "sites", json_integer(c->a->sites));
	if (c->guard)
		nb_coord_guard_compare(c, t);
	nb_coord_audit_order(c, t, order);
	nb_coord_txn_put(c, t, "order/stage", order, 0);
	nb_coord_enter(c, NB_COORD_ORDERING, 0);
	nb_coord_txn_send(c, t, ordered);
}

static void put_commit(struct nb_coord *c, struct nb_coord_txn *t)
{
	json_t *o = json_pack("{s:I,s:s,s:s,s:o}", "n", (json_int_t)c->n,
			      "digest", c->digest, "request", c->request,
			      "maker", nb_view_text(c->maker));
	const struct nb_view_key *last =
		nb_view_get(&c->a->view, "order/commit");
	json_t *rollout =
		json_object_get(json_object_get(c->audit, "maker"), "rollout");

	/*
	 * if controllers start a rollout's candidate, this does not end the
	 * rollout's guard
	 */
	if (c->by_controllers) {
		json_object_set_new(o, "controllers", json_true());
		rollout = last ? json_object_get(last->value, "rollout") : NULL;
	}
	if (c->use)
		json_object_update_missing(o, c->use);
	if (rollout)
		json_object_set(o, "rollout", rollout);
	nb_coord_txn_compare_gone(c, t);
	nb_coord_txn_put(c, t, "order/commit", o, 0);
	nb_coord_start_put(c, t);
	nb_coord_guard_put(c, t);
	nb_coord_audit_commit(c, t);
}

static void settled(void *arg, const struct nb_store_reply *r)
{
	struct nb_coord *c = nb_coord_reply(arg, r);

	if (c)
		nb_coord_enter(c, NB_COORD_SETTLING,
			       nb_agent_times.settle + nb_agent_crowd(c->a));
}

static void armed(void *arg, const struct nb_store_reply *r)
{
	struct nb_coord *c = nb_coord_reply(arg, r);

	if (!c)
		return;
	nb_targets_armed(&c->targets, r->revision);
	nb_coord_enter(c, NB_COORD_ARMED,
		       nb_agent_times.answer + nb_agent_crowd(c->a));
}

/*
 * Make the transaction fail if a site has registered a second communicator with
 * this identity since we read the keys. That site would mistake the first
 * communicator's record for its own.
 */
static void compare_sites(struct nb_coord *c, struct nb_coord_txn *t,
			  const struct nb_target *x)
{
	char prefix[32];

	snprintf(prefix, sizeof(prefix), "comm/%s/", x->comm);
	nb_coord_txn_compare_prefix(c, t, prefix, x->newest);
}

void nb_coord_arm(struct nb_coord *c)
{
	struct nb_coord_txn *t = nb_coord_txn_new(c);
	char why[200];

	if (!t)
		return;
	if (!nb_targets_ready(&c->targets, &c->a->view, why, sizeof(why))) {
		nb_coord_txn_free(t);
		if (!nb_coord_look_again(c))
			nb_coord_refuse(c, NB_E_BUSY, why, "try again");
		return;
	}
	c->lead_ms = nb_coord_lead_ms(c);
	nb_targets_choose(&c->targets, &c->a->view, c->tries, c->lead_ms);
	c->tries++;
	c->arming_ms = nb_agent_ms();
	for (size_t i = 0; i < c->targets.n; i++) {
		struct nb_target *x = &c->targets.at[i];

		if (*x->why)
			continue;
		nb_coord_txn_compare(c, t, x->record, x->mod);
		if (!x->mod)
			compare_sites(c, t, x);
		nb_coord_txn_put(
			c, t, x->record,
			nb_target_record(x, "armed", c->gen_n, c->digest), 0);
	}
	if (t->nop && c->tries > TRIES) {
		nb_coord_txn_free(t);
		if (c->catch_up)
			c->late_ms = nb_agent_ms() + nb_agent_times.catch_late;
		nb_coord_refuse(
			c, NB_E_BUSY,
			"ranks waited too long at every fence for the answers of all sites; "
			"nothing has changed",
			"doctor shows which agents or stores are slow");
		return;
	}
	if (!t->nop && !c->catch_up) {
		/*
		 * no communicator spans several sites, so there is no fence to
		 * arm
		 */
		put_commit(c, t);
		nb_coord_enter(c, NB_COORD_DECIDING, 0);
		nb_coord_txn_send(c, t, settled);
		return;
	}
	nb_coord_enter(c, NB_COORD_ARMING, 0);
	if (!t->nop) {
		nb_coord_txn_free(t);
		nb_coord_answer(c, true);
		return;
	}
	nb_coord_txn_send(c, t, armed);
}

static void decided(void *arg, const struct nb_store_reply *r)
{
	struct nb_coord *c = nb_coord_reply(arg, r);

	if (!c)
		return;
	if (c->commit && !c->catch_up) {
		nb_coord_enter(c, NB_COORD_SETTLING,
			       nb_agent_times.settle + nb_agent_crowd(c->a));
	} else if (c->commit) {
		nb_targets_committed(&c->targets);
		nb_coord_answer(c, true);
	} else if (c->tries < TRIES) {
		nb_targets_back(&c->targets, r->revision);
		/* the sites have staged already: arm again */
		c->state = NB_COORD_STAGING;
		c->state_ms = nb_agent_ms();
		nb_coord_arm(c);
	} else {
		nb_coord_refuse(
			c, NB_E_BUSY,
			c->err.code
				? c->err.text
				: "ranks passed every fence before the change was decided; "
				  "nothing has changed",
			"");
	}
}

/* Commit the change for all its communicators, or roll back all of them. */
static void decide(struct nb_coord *c, bool commit)
{
	struct nb_coord_txn *t = nb_coord_txn_new(c);

	if (!t)
		return;
	c->commit = commit;
	for (size_t i = 0; i < c->targets.n; i++) {
		struct nb_target *x = &c->targets.at[i];

		if (*x->why)
			continue;
		nb_coord_txn_compare(c, t, x->record, x->mod);
		nb_coord_txn_put(c, t, x->record,
				 commit ? nb_target_record(x, "commit",
							   c->gen_n, c->digest)
					: nb_target_back(x),
				 0);
	}
	if (commit && !c->catch_up)
		put_commit(c, t);
	nb_coord_enter(c, NB_COORD_DECIDING, 0);
	nb_coord_txn_send(c, t, decided);
}

/*
 * An agent whose rank waited for too long has rolled a record back: read the
 * keys again, and carry the request out anew with a farther fence.
 */
static void taken(struct nb_coord *c)
{
	nb_coord_answered(c);
	snprintf(c->taken, sizeof(c->taken), "%s", name_of(c));
	c->taken_tries = c->tries;
	nb_coord_reset(c);
	nb_agent_follow(c->a, true);
}

/* Roll the change back and refuse it. c->err has the reason. */
static void give_up(struct nb_coord *c)
{
	c->tries = TRIES;
	if (c->catch_up)
		c->late_ms = nb_agent_ms() + nb_agent_times.catch_missed;
	decide(c, false);
}

/*
 * Commit, unless a site has left since the fences were armed. Wait a moment for
 * it: its agent may only be replaced, or the watch of ended/ is late.
 */
static void commit_whole(struct nb_coord *c)
{
	char why[240];

	if (c->catch_up || nb_groups_whole(&c->a->view, why, sizeof(why))) {
		nb_coord_answered(c);
		decide(c, true);
		return;
	}
	if (nb_agent_ms() < c->deadline)
		return;
	nb_fail(&c->err, NB_E_BUSY, 0, "%s; nothing has changed", why);
	give_up(c);
}

static void tick_armed(struct nb_coord *c)
{
	const char *site = "";
	uint64_t now = nb_agent_ms();

	switch (nb_targets_stand(&c->targets, &c->a->view, &site)) {
	case NB_TARGETS_BELOW:
		commit_whole(c);
		break;
	case NB_TARGETS_AT:
		if (now < c->arming_ms + c->lead_ms + AT_MS)
			break;
		// fall through
	case NB_TARGETS_BEYOND:
		nb_coord_answered(c);
		decide(c, false);
		break;
	case NB_TARGETS_UNKNOWN:
		if (now < c->deadline)
			break;
		nb_fail(&c->err, NB_E_BUSY, 0,
			"site %s has not answered for %" PRIu64
			" ms; nothing has changed",
			site, nb_agent_times.answer + nb_agent_crowd(c->a));
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
		taken(c);
		break;
	}
}

/*
 * Wait until the sites have committed the communicators whose ranks are all on
 * one site. The change is already decided. If a site could not commit it, tell
 * the operator.
 */
static void tick_settling(struct nb_coord *c)
{
	const json_t *first;
	json_t *left;
	bool waits;

	if (!c->members) /* an earlier coordinator committed this change */
		keep_members(c);
	left = nb_targets_unsettled(&c->a->view, c->members, c->n, c->order_rev,
				    &waits);
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
	nb_coord_answer(c, true);
}

/*
 * Each answer of a site makes the coordinator check the answers of all sites,
 * which takes time in proportion to their number. Pauses after long checks
 * limit the checks to a quarter of the time. Otherwise the cost of a change
 * would grow with the square of the number of sites.
 */
static void tick_change(struct nb_coord *c)
{
	uint64_t start = nb_clock_thread(), ns;

	if (nb_clock_system() < c->look_ns)
		return;
	switch (c->state) {
	case NB_COORD_STAGING:
		nb_coord_tick_staging(c);
		break;
	case NB_COORD_ARMED:
		tick_armed(c);
		break;
	case NB_COORD_SETTLING:
		tick_settling(c);
		break;
	case NB_COORD_IDLE:
	case NB_COORD_CLAIMING:
	case NB_COORD_RECOVERING:
	case NB_COORD_CLEANING:
	case NB_COORD_ORDERING:
	case NB_COORD_ARMING:
	case NB_COORD_DECIDING:
	case NB_COORD_ANSWERING:
		return; /* nothing to do until the store replies */
	}
	ns = nb_clock_thread() - start;
	if (ns > SHORT_LOOK_NS)
		c->look_ns = nb_clock_system() + LOOK_PAUSE * ns;
}

void nb_coord_tick(struct nb_coord *c)
{
	struct nb_seg_agent *self = &c->a->site.seg->mem->agent;
	bool is = nb_coord_is(c);

	__atomic_store_n(&self->coordinates_ms,
			 is && !c->a->away_ms ? self->beat_ms : 0,
			 __ATOMIC_RELEASE);
	if (!is)
		return;
	if (c->state == NB_COORD_IDLE)
		nb_coord_idle(c);
	else
		tick_change(c);
}
