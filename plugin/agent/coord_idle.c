// SPDX-License-Identifier: MIT
/*
 * The coordinator's work between two changes: clean up after an earlier
 * coordinator, take the next request, and find communicators that lack the
 * job's generation.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plugin/agent/coord.h"
#include "plugin/agent/group.h"
#include "plugin/agent/record.h"

static void recovered(void *arg, const struct nb_store_reply *r)
{
	struct nb_coord *c = nb_coord_reply(arg, r);

	if (c)
		c->state = NB_COORD_IDLE;
}

/* Returns true if a site of the record @k has copied a later one. */
static bool is_lost(const struct nb_view *v, const struct nb_view_key *k)
{
	struct nb_group g;
	char prefix[32];

	snprintf(prefix, sizeof(prefix), "comm/%.16s/", k->key + 13);
	return nb_group_at(v, nb_view_first(v, prefix), &g) &&
	       !strncmp(g.id, k->key + 13, NB_COMM_ID) && nb_coord_lost(v, &g);
}

/*
 * Roll back records that a dead coordinator armed, end its undecided change,
 * and delete records of communicators that no longer exist.
 */
static bool recover(struct nb_coord *c)
{
	const struct nb_view *v = &c->a->view;
	struct nb_coord_txn *t = nb_coord_txn_new(c);
	bool any;

	if (t && !c->recovered)
		nb_coord_audit_undecided(c, t);
	for (size_t i = nb_view_first(v, "order/record/");
	     t && nb_view_below(v, i, "order/record/") &&
	     t->nop < NB_COORD_OPS / 2;
	     i++) {
		const struct nb_view_key *k = &v->at[i];
		bool is_armed =
			!strcmp(nb_view_str(k->value, "state"), "armed");
		bool stale = nb_target_is_stale(v, k);
		json_t *back;

		/* what the sites have copied decides (coord_mend.c) */
		if (!stale && (!is_armed || c->recovered || is_lost(v, k)))
			continue;
		back = stale ? NULL : nb_record_undo(k->value);
		nb_coord_txn_compare(c, t, k->key, k->mod);
		if (back)
			nb_coord_txn_put(c, t, k->key, back, 0);
		else
			nb_coord_txn_delete(c, t, k->key);
	}
	any = t && t->nop;
	if (!any && t) {
		nb_coord_txn_free(t);
		c->recovered = true;
	}
	if (!any)
		return false;
	nb_coord_enter(c, NB_COORD_RECOVERING, 0);
	nb_coord_txn_send(c, t, recovered);
	return true;
}

bool nb_coord_request_valid(const char *id)
{
	size_t n = strspn(id, "abcdefghijklmnopqrstuvwxyz"
			      "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789:._-");

	return n && n < sizeof(((struct nb_coord *)0)->request) && !id[n];
}

/*
 * Returns the oldest request in the store, or NULL. A key with another name is
 * none of a shell, and gets no reply.
 */
static const struct nb_view_key *find_request(const struct nb_view *v)
{
	const struct nb_view_key *first = NULL;

	for (size_t i = nb_view_first(v, "request/");
	     nb_view_below(v, i, "request/"); i++)
		if (nb_coord_request_valid(v->at[i].key + 8) &&
		    (!first || v->at[i].made < first->made))
			first = &v->at[i];
	return first;
}

/*
 * Resume a request that an earlier coordinator committed and did not answer.
 * Returns false if the request was not committed.
 */
static bool was_committed(struct nb_coord *c, const char *id,
			  const json_t *request)
{
	const struct nb_view_key *k = nb_view_get(&c->a->view, "order/commit");

	if (!k || strcmp(nb_view_str(k->value, "request"), id))
		return false;
	nb_coord_change_free(c);
	c->n = nb_view_int(k->value, "n");
	c->check = c->catch_up = false;
	nb_coord_audit_take(c, request);
	c->began_ms = nb_agent_ms();
	snprintf(c->digest, sizeof(c->digest), "%s",
		 nb_view_str(k->value, "digest"));
	snprintf(c->request, sizeof(c->request), "%s", id);
	c->order_rev = k->mod;
	nb_targets_find(&c->targets, &c->a->view, c->digest);
	nb_coord_enter(c, NB_COORD_SETTLING,
		       nb_agent_times.settle + nb_agent_crowd(c->a));
	return true;
}

static void cleaned(void *arg, const struct nb_store_reply *r)
{
	struct nb_coord *c = nb_coord_reply(arg, r);

	if (c)
		c->state = NB_COORD_IDLE;
}

/*
 * Returns true if @notes should be written: they are not those in the store,
 * and were the same at the last check. While sites register, the notes change
 * with each site, and each version would go to all of them.
 */
static bool notes_due(struct nb_coord *c, json_t *notes)
{
	const struct nb_view_key *k = nb_view_get(&c->a->view, "order/notes");
	uint64_t now = nb_agent_ms();
	bool same = c->notes && json_equal(c->notes, notes);

	json_decref(c->notes);
	c->notes = json_incref(notes);
	if (k ? json_equal(k->value, notes) : !json_object_size(notes)) {
		c->notes_ms = 0;
		return false;
	}
	if (!c->notes_ms)
		c->notes_ms = now;
	return same || now >= c->notes_ms + nb_agent_times.notes;
}

/* Tell all sites which communicators are left to NCCL, and why. */
static bool put_notes(struct nb_coord *c)
{
	json_t *notes = nb_targets_notes(&c->a->view);
	struct nb_coord_txn *t;

	if (*c->start_why)
		json_object_set_new(notes, "desired",
				    nb_view_text(c->start_why));
	t = notes_due(c, notes) ? nb_coord_txn_new(c) : NULL;
	if (!t) {
		json_decref(notes);
		return false;
	}
	c->notes_ms = 0;
	nb_coord_txn_put(c, t, "order/notes", notes, 0);
	nb_coord_enter(c, NB_COORD_CLEANING, 0);
	nb_coord_txn_send(c, t, cleaned);
	return true;
}

/*
 * The watch may report the written keys after this reply. Enter them now:
 * without them the coordinator would write them again, in vain.
 */
static void members_put(void *arg, const struct nb_store_reply *r)
{
	struct nb_coord *c = nb_coord_reply(arg, r);

	if (!c)
		return;
	for (void *at = json_object_iter(c->written); at;
	     at = json_object_iter_next(c->written, at))
		nb_view_put_json(&c->a->view, json_object_iter_key(at),
				 json_object_iter_value(at), r->revision,
				 r->revision);
	c->state = NB_COORD_IDLE;
}

/*
 * Record which sites have ranks of each communicator once all ranks have
 * registered, because a site's own keys disappear with its agent's lease.
 */
static bool put_members(struct nb_coord *c)
{
	const struct nb_view *v = &c->a->view;
	size_t i = nb_view_first(v, "comm/");
	struct nb_coord_txn *t = NULL;
	char key[32];
	int64_t mod;
	json_t *value;

	json_decref(c->written);
	c->written = json_object();
	while ((!t || t->nop < NB_COORD_OPS / 2) &&
	       (value = nb_groups_members(v, &i, key, &mod))) {
		if (!t && !(t = nb_coord_txn_new(c))) {
			json_decref(value);
			return false;
		}
		nb_coord_txn_compare(c, t, key, mod);
		json_object_set(c->written, key, value);
		nb_coord_txn_put(c, t, key, value, 0);
	}
	if (!t)
		return false;
	nb_coord_enter(c, NB_COORD_CLEANING, 0);
	nb_coord_txn_send(c, t, members_put);
	return true;
}

void nb_coord_idle(struct nb_coord *c)
{
	const struct nb_view_key *k;
	uint64_t now = nb_agent_ms();

	if (recover(c))
		return;
	k = find_request(&c->a->view);
	if (k) {
		/* if a site is lost in the change, its name is known */
		if (put_members(c))
			return;
		if (!was_committed(c, k->key + 8, k->value))
			nb_coord_order_stage(c, k->key + 8, k->value);
		return;
	}
	if (c->proposed && put_members(c))
		return;
	if (nb_coord_proposal(c) ||
	    now < c->caught_ms + nb_agent_times.catch_up)
		return;
	c->caught_ms = now;
	nb_coord_state(c);
	if (nb_coord_mend(c) || put_members(c) || put_notes(c) ||
	    nb_coord_guard(c) || nb_coord_start(c))
		return;
	if (now >= c->late_ms && nb_targets_lacking(&c->a->view))
		nb_coord_order_stage(c, "", NULL);
	else
		nb_coord_sweep(c);
}
