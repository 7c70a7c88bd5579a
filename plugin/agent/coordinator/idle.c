// SPDX-License-Identifier: MIT
/*
 * The coordinator's work between two changes: clean up after an earlier
 * coordinator, take the next request, write down which sites have ranks of which
 * communicators and which communicators are left to NCCL, and find those that
 * lack the job's generation.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plugin/agent/coordinator/coordinator.h"

/* ---- recovery ---- */

/*
 * Returns true if the coordinator must roll the armed record back: a dead
 * coordinator armed it, or a site has written it again, and no site knows its
 * outcome.
 */
static bool record_abandoned(const struct nb_coord *c, const struct nb_view_key *k)
{
	if (strcmp(nb_view_str(k->value, "state"), "armed") != 0)
		return false;
	return nb_record_again(k->value) ? nb_target_answered(&c->a->view, k) : !c->recovered;
}

/*
 * Roll back records that nobody else decides, and delete records of
 * communicators that no longer exist.
 */
static bool recovery_due(struct nb_coord *c)
{
	const struct nb_view *v = &c->a->view;
	struct nb_coord_txn *t = nb_coord_txn_new(c);

	for (size_t i = nb_view_first(v, "order/record/");
	     t && nb_view_below(v, i, "order/record/") && t->nop < NB_COORD_OPS / 2; i++) {
		const struct nb_view_key *k = &v->at[i];
		bool stale = nb_target_is_stale(v, k);
		json_t *back;

		if (!stale && !record_abandoned(c, k))
			continue;
		back = stale ? NULL : nb_record_undo(k->value);
		if (!back) {
			nb_coord_txn_delete(c, t, k->key, k->mod);
			continue;
		}
		nb_coord_txn_compare(c, t, k->key, k->mod);
		nb_coord_txn_put(c, t, k->key, back, 0);
	}
	if (!t)
		return false;
	if (t->nop)
		return nb_coord_txn_send(c, t, NULL);
	nb_coord_txn_free(t);
	c->recovered = true;
	return false;
}

const struct nb_coord_part nb_coord_recovery = { .due = recovery_due, .at_once = true };

/* ---- requests ---- */

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

	for (size_t i = nb_view_first(v, "request/"); nb_view_below(v, i, "request/"); i++)
		if (nb_coord_request_valid(v->at[i].key + 8) &&
		    (!first || v->at[i].made < first->made))
			first = &v->at[i];
	return first;
}

static bool requests_due(struct nb_coord *c)
{
	const struct nb_view_key *k = find_request(&c->a->view);

	if (!k)
		return false;
	/* if a site is lost in the change, its name is known */
	if (nb_coord_put_members(c))
		return true;
	if (!nb_coord_resume(c, k->key + 8, k->value))
		nb_coord_order(c, k->key + 8, k->value);
	return true;
}

const struct nb_coord_part nb_coord_requests = { .due = requests_due, .at_once = true };

/* ---- notes ---- */

/*
 * Returns true if @notes should be written: they are not those in the store,
 * and were the same at the last check. While sites register, the notes change
 * with each site, and each version would go to all of them.
 */
static bool notes_are_due(struct nb_coord *c, json_t *notes)
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
static bool notes_due(struct nb_coord *c)
{
	json_t *notes = nb_targets_notes(&c->a->view);
	struct nb_coord_txn *t;

	if (*c->start_why)
		json_object_set_new(notes, "desired", nb_view_text(c->start_why));
	t = notes_are_due(c, notes) ? nb_coord_txn_new(c) : NULL;
	if (!t) {
		json_decref(notes);
		return false;
	}
	c->notes_ms = 0;
	nb_coord_txn_put(c, t, "order/notes", notes, 0);
	return nb_coord_txn_send(c, t, NULL);
}

const struct nb_coord_part nb_coord_notes = { .due = notes_due };

/* ---- members ---- */

/*
 * Record which sites have ranks of each communicator once all ranks have
 * registered, because a site's own keys disappear with its agent's lease. A key
 * with 1,250 sites has up to 90 KB, and etcd takes 1.5 MiB a request: the next
 * round writes the others.
 */
bool nb_coord_put_members(struct nb_coord *c)
{
	const struct nb_view *v = &c->a->view;
	size_t i = nb_view_first(v, "comm/");
	struct nb_coord_txn *t = NULL;
	char key[32];
	int64_t mod;
	json_t *value;

	while ((!t || (t->nop < NB_COORD_OPS / 2 && t->size < NB_STORE_VALUE_SIZE / 2)) &&
	       (value = nb_groups_members(v, &i, key, &mod))) {
		if (!t && !(t = nb_coord_txn_new(c))) {
			json_decref(value);
			return false;
		}
		nb_coord_txn_compare(c, t, key, mod);
		nb_coord_txn_put(c, t, key, value, 0);
	}
	return t && nb_coord_txn_send(c, t, NULL);
}

const struct nb_coord_part nb_coord_members = { .due = nb_coord_put_members };

/* ---- catch-up ---- */

static bool catch_up_due(struct nb_coord *c)
{
	if (nb_agent_ms() < c->late_ms || !nb_targets_lacking(&c->a->view))
		return false;
	nb_coord_order(c, "", NULL);
	return true;
}

const struct nb_coord_part nb_coord_catch_up = { .due = catch_up_due };
