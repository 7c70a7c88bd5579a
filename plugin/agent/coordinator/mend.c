// SPDX-License-Identifier: MIT
/*
 * The coordinator's work between two changes: clean up after an earlier
 * coordinator, take the next request, rebuild what the store has lost, write
 * down which sites have ranks of which communicators and which communicators
 * are left to NCCL, and find those that lack the job's generation.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plugin/agent/coordinator/coordinator.h"

/* ---- recovery ---- */

/* Returns true if a site of the record @k has copied a later one. */
static bool copied_later(const struct nb_view *v, const struct nb_view_key *k)
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
static bool recovery_due(struct nb_coord *c)
{
	const struct nb_view *v = &c->a->view;
	struct nb_coord_txn *t = nb_coord_txn_new(c);

	if (t && !c->recovered)
		nb_coord_audit_undecided(c, t);
	for (size_t i = nb_view_first(v, "order/record/");
	     t && nb_view_below(v, i, "order/record/") && t->nop < NB_COORD_OPS / 2; i++) {
		const struct nb_view_key *k = &v->at[i];
		bool is_armed = !strcmp(nb_view_str(k->value, "state"), "armed");
		bool stale = nb_target_is_stale(v, k);
		json_t *back;

		/* what the sites have copied decides (mend_record) */
		if (!stale && (!is_armed || c->recovered || copied_later(v, k)))
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
 * registered, because a site's own keys disappear with its agent's lease.
 */
bool nb_coord_put_members(struct nb_coord *c)
{
	const struct nb_view *v = &c->a->view;
	size_t i = nb_view_first(v, "comm/");
	struct nb_coord_txn *t = NULL;
	char key[32];
	int64_t mod;
	json_t *value;

	while ((!t || t->nop < NB_COORD_OPS / 2) && (value = nb_groups_members(v, &i, key, &mod))) {
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

/*
 * ---- lost keys ----
 *
 * Records that the store has lost: it was restored from a backup, has lost its
 * data, or somebody has deleted or damaged keys. The sites' copies then decide.
 * All sites publish their copies and accept no other record, so no copy
 * changes; the coordinator rebuilds the record from the latest copy.
 */

static const json_t *copy_at(const struct nb_view *v, size_t i)
{
	return json_object_get(v->at[i].value, "copy");
}

bool nb_coord_lost(const struct nb_view *v, const struct nb_group *g)
{
	for (size_t i = g->first; i < g->end; i++)
		if (copy_at(v, i))
			return true;
	return false;
}

static bool is_armed(const json_t *record)
{
	return !strcmp(nb_view_str(record, "state"), "armed");
}

static bool same_state(const json_t *a, const json_t *b)
{
	return !strcmp(nb_view_str(a, "state"), nb_view_str(b, "state")) &&
	       !strcmp(nb_view_str(a, "digest"), nb_view_str(b, "digest")) &&
	       nb_view_int(a, "fence") == nb_view_int(b, "fence");
}

/*
 * Returns true if copy @a is @b, comes before it, or is an outcome that says
 * the same. A store that goes back may roll an arming back twice.
 */
static bool precedes(const json_t *a, const json_t *b)
{
	int64_t id = nb_view_int(a, "id");

	return id == nb_view_int(b, "id") || id == nb_view_int(b, "was") ||
	       (!is_armed(a) && same_state(a, b));
}

/*
 * Returns the site whose copy all other copies precede: the last outcome, or
 * else the arming for which no site has an outcome. Returns g->end if there is
 * none: the sites' copies are not of one chain.
 */
static size_t find_last(const struct nb_view *v, const struct nb_group *g, bool armed)
{
	for (size_t i = g->first; i < g->end; i++) {
		bool last = is_armed(copy_at(v, i)) == armed;

		for (size_t k = g->first; last && k < g->end; k++)
			last = precedes(copy_at(v, k), copy_at(v, i));
		if (last)
			return i;
	}
	return g->end;
}

/*
 * Returns the record that follows the copies of all sites. Some site may not
 * have published its copy yet, or may publish one again after it has accepted
 * the record: then NULL.
 */
static json_t *made_anew(const struct nb_view *v, const struct nb_group *g)
{
	size_t last = find_last(v, g, false);
	const json_t *from;
	json_t *record, *ids;

	if (last == g->end)
		last = find_last(v, g, true);
	if (last == g->end)
		return NULL;
	from = copy_at(v, last);
	record = nb_record_bare(is_armed(from) ? json_object_get(from, "back") : from);
	ids = json_object();
	for (size_t i = g->first; i < g->end; i++)
		json_object_set_new(ids, nb_group_site(v, i),
				    json_integer(nb_view_int(copy_at(v, i), "id")));
	json_object_set_new(record, "from", ids);
	return nb_record_chain(record, nb_record_draw(), 0, 0);
}

/* Returns true if the store's record is made of the copy of site @i. */
static bool accepts(const struct nb_view *v, size_t i, const json_t *record)
{
	const json_t *id = json_object_get(json_object_get(record, "from"), nb_group_site(v, i));

	return !copy_at(v, i) ||
	       (json_is_integer(id) && json_integer_value(id) == nb_view_int(copy_at(v, i), "id"));
}

static bool all_accept(const struct nb_view *v, const struct nb_group *g, const json_t *record)
{
	for (size_t i = g->first; i < g->end; i++)
		if (!accepts(v, i, record))
			return false;
	return true;
}

static bool all_lost(const struct nb_view *v, const struct nb_group *g)
{
	for (size_t i = g->first; i < g->end; i++)
		if (!copy_at(v, i))
			return false;
	return true;
}

/*
 * Returns the next record of the group, or NULL: nothing is lost, or the sites
 * have yet to answer.
 */
static json_t *next_record(const struct nb_view *v, const struct nb_group *g, const json_t *record)
{
	bool asked = !strcmp(nb_view_str(record, "state"), NB_RECORD_LOST);

	if (g->ranks != g->nranks || !nb_group_registered(v, g) ||
	    (!asked && all_accept(v, g, record)))
		return NULL;
	if (all_lost(v, g))
		return made_anew(v, g);
	if (asked)
		return NULL;
	return nb_record_chain(json_pack("{s:s}", "state", NB_RECORD_LOST), nb_record_draw(), 0, 0);
}

static bool mend_record(struct nb_coord *c, const struct nb_group *g)
{
	const struct nb_view *v = &c->a->view;
	char key[40];
	const struct nb_view_key *k;
	struct nb_coord_txn *t;
	json_t *record;

	snprintf(key, sizeof(key), "order/record/%s", g->id);
	k = nb_view_get(v, key);
	record = next_record(v, g, k ? k->value : NULL);
	t = record ? nb_coord_txn_new(c) : NULL;
	if (!t) {
		json_decref(record);
		return false;
	}
	nb_agent_log("communicator %s: %s", g->id,
		     json_object_get(record, "from")
			     ? "its record is rebuilt from the sites' copies"
			     : "a site's copy is newer than the store's record: "
			       "all sites publish their copies");
	nb_coord_txn_compare(c, t, key, k ? k->mod : 0);
	nb_coord_txn_facts(c, t);
	nb_coord_txn_put(c, t, key, record, 0);
	return nb_coord_txn_send(c, t, NULL);
}

/*
 * Returns the number of the last change if all sites have made it and it is
 * newer than the store's; 0 otherwise. *@digest: its generation
 */
static int64_t lost_change(const struct nb_view *v, const char **digest)
{
	const struct nb_view_key *k = nb_view_get(v, "order/commit");
	int64_t n = 0;

	*digest = "";
	for (size_t i = nb_view_first(v, "site/"); nb_view_below(v, i, "site/"); i++) {
		const json_t *o = v->at[i].value;
		const char *d = nb_view_str(o, "baseline");

		if (!n) {
			n = nb_view_int(o, "change");
			*digest = d;
		}
		if (n <= 0 || nb_view_int(o, "change") != n || !*d || strcmp(d, *digest) != 0)
			return 0;
	}
	return n > (k ? nb_view_int(k->value, "n") : 0) ? n : 0;
}

/* Write order/commit again. */
static bool mend_commit(struct nb_coord *c)
{
	const struct nb_view_key *k = nb_view_get(&c->a->view, "order/commit");
	const char *digest;
	int64_t n = lost_change(&c->a->view, &digest);
	struct nb_coord_txn *t;

	t = n ? nb_coord_txn_new(c) : NULL;
	if (!t)
		return false;
	nb_agent_log("the store has lost change %lld, which all sites have "
		     "made: it is written again",
		     (long long)n);
	nb_coord_txn_compare(c, t, "order/commit", k ? k->mod : 0);
	nb_coord_txn_facts(c, t);
	nb_coord_txn_put(c, t, "order/commit",
			 json_pack("{s:I,s:s,s:s,s:s}", "n", (json_int_t)n, "digest", digest,
				   "request", "", "maker", ""),
			 0);
	return nb_coord_txn_send(c, t, NULL);
}

static bool mend_due(struct nb_coord *c)
{
	const struct nb_view *v = &c->a->view;
	struct nb_group g;

	for (size_t i = nb_view_first(v, "comm/"); nb_group_at(v, i, &g); i = g.end)
		if (mend_record(c, &g))
			return true;
	return mend_commit(c);
}

const struct nb_coord_part nb_coord_mend = { .due = mend_due };
