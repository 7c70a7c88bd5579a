// SPDX-License-Identifier: MIT
/*
 * Rolls a candidate back when the runner of its rollout or sweep is lost. The
 * runner stores the request that restores the baseline in the key guard/line
 * before it puts the candidate in use, and holds guard/runner with its lease.
 * If the lease ends before the rollout, the coordinator carries the request
 * out, so no candidate stays in use without its guards.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "plugin/agent/coord.h"

enum { DOUBLED = 6 }; /* how often the delay doubles */

/*
 * Add operations to the transaction that delete @guard and record its outcome.
 * The transaction fails if a runner has registered meanwhile. @restored: the
 * job has its baseline, with generation @n
 */
static void put_end(struct nb_coord *c, struct nb_coord_txn *t,
		    const json_t *guard, bool restored, int64_t n)
{
	const struct nb_view_key *k = nb_view_get(&c->a->view, "guard/line");
	char now[NB_UTC_TEXT];

	nb_coord_txn_compare(c, t, "guard/line", k ? k->mod : 0);
	nb_coord_txn_compare(c, t, "guard/runner", 0);
	nb_coord_txn_delete(c, t, "guard/line");
	nb_coord_txn_put(c, t, "guard/undone",
			 json_pack("{s:s,s:b,s:I,s:s,s:s}", "id",
				   nb_view_str(guard, "id"), "restored",
				   restored, "n", (json_int_t)n, "site",
				   c->a->name, "time", nb_coord_time(now)),
			 0);
}

static void ended(void *arg, const struct nb_store_reply *r)
{
	struct nb_coord *c = nb_coord_reply(arg, r);

	if (c)
		c->state = NB_COORD_IDLE;
}

void nb_coord_guard_compare(struct nb_coord *c, struct nb_coord_txn *t)
{
	nb_coord_txn_compare_prefix(c, t, "request/", c->a->requests);
}

/*
 * Delete a guard without a change, because somebody else has changed the job or
 * the candidate was never in use.
 */
static void drop(struct nb_coord *c, const json_t *guard, int64_t n)
{
	struct nb_coord_txn *t = nb_coord_txn_new(c);

	if (!t)
		return;
	nb_coord_guard_compare(c, t);
	put_end(c, t, guard, n == nb_view_int(guard, "from"), n);
	nb_coord_enter(c, NB_COORD_CLEANING, 0);
	nb_coord_txn_send(c, t, ended);
}

bool nb_coord_guard(struct nb_coord *c)
{
	const struct nb_view *v = &c->a->view;
	const struct nb_view_key *k = nb_view_get(v, "guard/line");
	const struct nb_view_key *last = nb_view_get(v, "order/commit");
	uint64_t now = nb_agent_ms();
	json_t *request;

	if (!k || nb_view_get(v, "guard/runner")) {
		c->guard_tries = 0;
		return false;
	}
	if (c->guard_tries &&
	    now < c->guard_ms +
			    (nb_agent_times.guard_retry / 2 << c->guard_tries))
		return false;
	if (!c->guard_tries)
		nb_agent_log("the runner of %s is lost",
			     nb_view_str(k->value, "id"));
	c->guard_tries += c->guard_tries <= DOUBLED;
	c->guard_ms = now;
	if (!last || strcmp(nb_view_str(last->value, "rollout"),
			    nb_view_str(k->value, "id"))) {
		drop(c, k->value, last ? nb_view_int(last->value, "n") : 0);
		return true;
	}
	request = json_pack("{s:O?,s:O?,s:O}", "line",
			    json_object_get(k->value, "line"), "images",
			    json_object_get(k->value, "images"), "guard",
			    k->value);
	if (!request)
		return false;
	nb_coord_order_stage(c, "", request);
	json_decref(request);
	return true;
}

void nb_coord_guard_take(struct nb_coord *c, const json_t *request)
{
	if (!*c->request)
		c->guard = json_incref(json_object_get(request, "guard"));
}

void nb_coord_guard_put(struct nb_coord *c, struct nb_coord_txn *t)
{
	if (!c->guard)
		return;
	put_end(c, t, c->guard, true, c->n);
	nb_coord_audit_put(
		c, t, c->guard,
		"the runner is lost, so its candidate is rolled back");
}
