// SPDX-License-Identifier: MIT
/*
 * Communicators by the keys of their sites, and the sites that have left.
 */
#include "plugin/agent/group.h"

#include <stdio.h>
#include <string.h>

enum { COMM = 5 }; /* length of the prefix "comm/" of a key */

const char *nb_group_site(const struct nb_view *v, size_t i)
{
	const char *slash = strchr(v->at[i].key + COMM, '/');

	return slash ? slash + 1 : "";
}

bool nb_group_at(const struct nb_view *v, size_t i, struct nb_group *g)
{
	memset(g, 0, sizeof(*g));
	if (!nb_view_below(v, i, "comm/"))
		return false;
	g->first = g->end = i;
	snprintf(g->id, sizeof(g->id), "%s", v->at[i].key + COMM);
	for (; nb_view_below(v, g->end, "comm/") &&
	       !strncmp(v->at[g->end].key + COMM, g->id, NB_COMM_ID);
	     g->end++) {
		const json_t *o = v->at[g->end].value;

		g->ranks += nb_view_int(o, "ranks");
		g->nranks = nb_view_int(o, "nranks");
		g->sites++;
	}
	return g->end > g->first;
}

int64_t nb_group_registered(const struct nb_view *v, const struct nb_group *g)
{
	int64_t last = 0;

	for (size_t i = g->first; i < g->end; i++) {
		int64_t since = nb_view_int(v->at[i].value, "since");

		if (!since)
			return 0;
		last = since > last ? since : last;
	}
	return last;
}

const json_t *nb_group_members(const struct nb_view *v,
			       const struct nb_group *g)
{
	char key[32];
	const struct nb_view_key *k;

	snprintf(key, sizeof(key), "members/%s", g->id);
	k = nb_view_get(v, key);
	if (!k || nb_view_int(k->value, "since") < nb_group_registered(v, g))
		return NULL;
	return k->value;
}

const char *nb_group_gone(const struct nb_view *v, const struct nb_group *g,
			  const json_t *members, size_t *i)
{
	const json_t *sites = json_object_get(members, "sites");

	while (*i < json_array_size(sites)) {
		const char *name =
			json_string_value(json_array_get(sites, (*i)++));
		char key[128];

		snprintf(key, sizeof(key), "comm/%s/%s", g->id,
			 name ? name : "");
		if (name && !nb_view_get(v, key))
			return name;
	}
	return NULL;
}

const char *nb_group_left(const struct nb_view *v, const struct nb_group *g)
{
	const json_t *members = nb_group_members(v, g);
	const char *name;
	size_t i = 0;

	while ((name = nb_group_gone(v, g, members, &i)))
		if (!nb_view_at_site(v, "site", name) &&
		    !nb_view_ended(v, name, nb_view_int(members, "since")))
			return name;
	return NULL;
}

bool nb_groups_whole(const struct nb_view *v, char *why, size_t size)
{
	struct nb_group g;

	for (size_t i = nb_view_first(v, "comm/"); nb_group_at(v, i, &g);
	     i = g.end) {
		const char *left = nb_group_left(v, &g);

		if (!left)
			continue;
		snprintf(
			why, size,
			"site %.72s has ranks of communicator %s, and its agent's lease has ended",
			left, g.id);
		return false;
	}
	return true;
}

bool nb_groups_registered(const struct nb_view *v)
{
	struct nb_group g;

	for (size_t i = nb_view_first(v, "comm/"); nb_group_at(v, i, &g);
	     i = g.end)
		if (g.nranks && g.ranks == g.nranks &&
		    !nb_group_registered(v, &g))
			return false;
	return true;
}

json_t *nb_groups_members(const struct nb_view *v, size_t *i, char members[32],
			  int64_t *mod)
{
	struct nb_group g;

	for (; nb_group_at(v, *i, &g); *i = g.end) {
		const struct nb_view_key *k;
		json_t *sites;

		if (g.ranks != g.nranks || !nb_group_registered(v, &g) ||
		    nb_group_members(v, &g))
			continue;
		snprintf(members, 32, "members/%s", g.id);
		k = nb_view_get(v, members);
		*mod = k ? k->mod : 0;
		sites = json_array();
		for (size_t n = g.first; n < g.end; n++)
			json_array_append_new(sites,
					      json_string(nb_group_site(v, n)));
		*i = g.end;
		return json_pack("{s:I,s:o}", "since",
				 (json_int_t)nb_group_registered(v, &g),
				 "sites", sites);
	}
	return NULL;
}
