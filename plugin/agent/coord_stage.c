// SPDX-License-Identifier: MIT
/*
 * The first part of a change: wait until all sites have staged it.
 */
#include <stdio.h>
#include <string.h>

#include "plugin/agent/coord.h"
#include "plugin/agent/group.h"

static void note_site(struct nb_coord *c, const char *site, const char *text,
		      const char *hint)
{
	if (!c->sites)
		c->sites = json_array();
	json_array_append_new(c->sites, json_pack("{s:s,s:s,s:s}", "site", site,
						  "text", text, "hint", hint));
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
		const char *name =
			json_string_value(json_array_get(c->members, i));
		char key[128];

		snprintf(key, sizeof(key), "site/%s", name);
		if (nb_view_get(&c->a->view, key) ||
		    nb_view_ended(&c->a->view, name, c->order_rev))
			continue;
		n++;
		if (note)
			note_site(
				c, name,
				"the agent's lease has ended since the change was ordered",
				"start the site's agent, then try again");
	}
	return n;
}

/* Count the sites that have staged change c->n, and all sites (*@sites). */
static size_t count_staged(struct nb_coord *c, size_t *sites, bool note)
{
	const struct nb_view *v = &c->a->view;
	size_t n = 0;

	*sites = 0;
	*c->digest = '\0';
	for (size_t i = nb_view_first(v, "site/"); nb_view_below(v, i, "site/");
	     i++, (*sites)++) {
		char key[128];
		const char *name = v->at[i].key + 5;
		const struct nb_view_key *k;
		const char *digest;

		snprintf(key, sizeof(key), "staged/%s", name);
		k = nb_view_get(v, key);
		if (!k || nb_view_int(k->value, "n") != c->n) {
			if (note)
				note_site(c, name, "has not answered", "");
			continue;
		}
		n++;
		digest = nb_view_str(k->value, "digest");
		if (!strcmp(nb_view_str(k->value, "state"), "failed"))
			note_site(c, name, nb_view_str(k->value, "text"),
				  nb_view_str(k->value, "hint"));
		else if (strspn(digest, "0123456789abcdef") != 64 || digest[64])
			note_site(c, name, "the site's answer has no digest",
				  "");
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
	nb_coord_refuse(c, code, text, nb_view_str(first, "hint"));
}

bool nb_coord_look_again(struct nb_coord *c)
{
	if (nb_agent_ms() >= c->began_ms + nb_agent_times.away)
		return false;
	c->state = NB_COORD_STAGING;
	return true;
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
	if (!nb_groups_registered(&c->a->view) && nb_coord_look_again(c))
		return true;
	if (nb_groups_whole(&c->a->view, why, sizeof(why)))
		return false;
	if (!nb_coord_look_again(c))
		nb_coord_refuse(
			c, NB_E_BUSY, why,
			"try again when the site's agent has registered; list shows the sites");
	return true;
}

/*
 * Returns true if a site with ranks registered during the change and has not
 * staged it. The change then waits for the site, or is refused.
 */
static bool wait_for_sites(struct nb_coord *c)
{
	if (nb_targets_staged(&c->targets, &c->a->view, c->n, c->digest))
		return false;
	if (!nb_coord_look_again(c))
		nb_coord_refuse(
			c, NB_E_BUSY,
			"a site that registered during the change has not staged it",
			"try again; list shows the sites");
	return true;
}

/*
 * All sites have staged the same generation: answer a dry run, else arm the
 * fences.
 */
static void staged(struct nb_coord *c)
{
	const struct nb_view_key *k = nb_view_get(&c->a->view, "order/commit");

	c->stage_ms = nb_agent_ms() - c->began_ms;
	c->gen_n = c->n;
	/* a catch-up uses the number that the generation already has */
	if (c->catch_up)
		c->gen_n =
			k && !strcmp(nb_view_str(k->value, "digest"), c->digest)
				? nb_view_int(k->value, "n")
				: 0;
	nb_targets_find(&c->targets, &c->a->view, c->digest);
	if (wait_for_ranks(c) || wait_for_sites(c))
		return;
	if (c->check)
		nb_coord_answer(c, false);
	else
		nb_coord_arm(c);
}

void nb_coord_tick_staging(struct nb_coord *c)
{
	size_t sites, n, left;
	bool late = nb_agent_ms() >= c->deadline;
	bool soon = nb_agent_ms() < c->began_ms + nb_agent_times.away;

	json_decref(c->sites);
	c->sites = NULL;
	n = count_staged(c, &sites, late);
	left = count_left(c, late || !soon);
	if ((n < sites || left) && !late && !c->sites)
		return;
	if (n < sites || c->sites)
		refuse_sites(c, n < sites && late ? NB_E_TIMEOUT
				: left		  ? NB_E_BUSY
						  : NB_E_REFUSED);
	else if (!sites)
		nb_coord_refuse(c, NB_E_REFUSED,
				"no site of the job is registered", "");
	else
		staged(c);
}
