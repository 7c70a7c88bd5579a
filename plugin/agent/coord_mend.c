// SPDX-License-Identifier: MIT
/*
 * Records that the store has lost: it was restored from a backup, has lost its
 * data, or somebody has deleted or damaged keys. The sites' copies then
 * decide. All sites publish their copies and accept no other record, so no copy
 * changes; the coordinator rebuilds the record from the latest copy.
 */
#include <stdio.h>
#include <string.h>

#include "plugin/agent/coord.h"
#include "plugin/agent/group.h"
#include "plugin/agent/record.h"

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
static size_t find_last(const struct nb_view *v, const struct nb_group *g,
			bool armed)
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
	record = nb_record_bare(is_armed(from) ? json_object_get(from, "back")
					       : from);
	ids = json_object();
	for (size_t i = g->first; i < g->end; i++)
		json_object_set_new(
			ids, nb_group_site(v, i),
			json_integer(nb_view_int(copy_at(v, i), "id")));
	json_object_set_new(record, "from", ids);
	return nb_record_chain(record, nb_record_draw(), 0, 0);
}

/* Returns true if the store's record is made of the copy of site @i. */
static bool accepts(const struct nb_view *v, size_t i, const json_t *record)
{
	const json_t *id = json_object_get(json_object_get(record, "from"),
					   nb_group_site(v, i));

	return !copy_at(v, i) ||
	       (json_is_integer(id) &&
		json_integer_value(id) == nb_view_int(copy_at(v, i), "id"));
}

static bool all_accept(const struct nb_view *v, const struct nb_group *g,
		       const json_t *record)
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
static json_t *next_record(const struct nb_view *v, const struct nb_group *g,
			   const json_t *record)
{
	bool asked = !strcmp(nb_view_str(record, "state"), NB_RECORD_LOST);

	if (g->ranks != g->nranks || !nb_group_registered(v, g) ||
	    (!asked && all_accept(v, g, record)))
		return NULL;
	if (all_lost(v, g))
		return made_anew(v, g);
	if (asked)
		return NULL;
	return nb_record_chain(json_pack("{s:s}", "state", NB_RECORD_LOST),
			       nb_record_draw(), 0, 0);
}

static void mended(void *arg, const struct nb_store_reply *r)
{
	struct nb_coord *c = nb_coord_reply(arg, r);

	if (c)
		c->state = NB_COORD_IDLE;
}

static bool mend_send(struct nb_coord *c, struct nb_coord_txn *t)
{
	nb_coord_enter(c, NB_COORD_CLEANING, 0);
	nb_coord_txn_send(c, t, mended);
	return true;
}

static bool mend_record(struct nb_coord *c, const struct nb_group *g)
{
	const struct nb_view *v = &c->a->view;
	char key[40], prefix[32];
	const struct nb_view_key *k;
	struct nb_coord_txn *t;
	int64_t newest = 0;
	json_t *record;

	snprintf(key, sizeof(key), "order/record/%s", g->id);
	snprintf(prefix, sizeof(prefix), "comm/%s/", g->id);
	k = nb_view_get(v, key);
	record = next_record(v, g, k ? k->value : NULL);
	t = record ? nb_coord_txn_new(c) : NULL;
	if (!t) {
		json_decref(record);
		return false;
	}
	for (size_t i = g->first; i < g->end; i++)
		if (v->at[i].made > newest)
			newest = v->at[i].made;
	nb_agent_log(
		"communicator %s: %s", g->id,
		json_object_get(record, "from")
			? "its record is rebuilt from the sites' copies"
			: "a site's copy is newer than the store's record: "
			  "all sites publish their copies");
	nb_coord_txn_compare(c, t, key, k ? k->mod : 0);
	nb_coord_txn_compare_prefix(c, t, prefix, newest);
	nb_coord_txn_put(c, t, key, record, 0);
	return mend_send(c, t);
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
	for (size_t i = nb_view_first(v, "site/"); nb_view_below(v, i, "site/");
	     i++) {
		const json_t *o = v->at[i].value;
		const char *d = nb_view_str(o, "baseline");

		if (!n) {
			n = nb_view_int(o, "change");
			*digest = d;
		}
		if (n <= 0 || nb_view_int(o, "change") != n || !*d ||
		    strcmp(d, *digest) != 0)
			return 0;
	}
	return n > (k ? nb_view_int(k->value, "n") : 0) ? n : 0;
}

/*
 * Write order/commit again. Two checks must find the same, because the watch of
 * site/ may be ahead of that of order/.
 */
static bool mend_commit(struct nb_coord *c)
{
	const struct nb_view_key *k = nb_view_get(&c->a->view, "order/commit");
	const char *digest;
	int64_t n = lost_change(&c->a->view, &digest), before = c->mended;
	struct nb_coord_txn *t;

	c->mended = n;
	if (!n || n != before)
		return false;
	t = nb_coord_txn_new(c);
	if (!t)
		return false;
	nb_agent_log("the store has lost change %lld, which all sites have "
		     "made: it is written again",
		     (long long)n);
	nb_coord_txn_compare(c, t, "order/commit", k ? k->mod : 0);
	nb_coord_txn_put(c, t, "order/commit",
			 json_pack("{s:I,s:s,s:s,s:s}", "n", (json_int_t)n,
				   "digest", digest, "request", "", "maker",
				   ""),
			 0);
	return mend_send(c, t);
}

bool nb_coord_mend(struct nb_coord *c)
{
	const struct nb_view *v = &c->a->view;
	struct nb_group g;

	for (size_t i = nb_view_first(v, "comm/"); nb_group_at(v, i, &g);
	     i = g.end)
		if (mend_record(c, &g))
			return true;
	return mend_commit(c);
}
