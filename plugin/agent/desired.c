// SPDX-License-Identifier: MIT
/*
 * The policy with which jobs of this name start. The key desired holds the
 * request line, which the commands job set and policy use start=yes write. A
 * job that already ran when the key was made keeps its policies. A site that
 * joins later gets what the job has then: the change in the key
 * desired/applied, which applied the request to the running job, or an
 * operator's change in the key order/commit or order/state.
 */
#include <stdio.h>
#include <string.h>

#include "plugin/agent/coord.h"

/*
 * Returns the fleet number of the last change that a site has made; 0 if it has
 * made none.
 */
static int64_t site_change(const struct nb_view *v, const struct nb_view_key *k)
{
	int64_t n = nb_view_int(k->value, "change"), staged;
	const struct nb_view_key *s;
	char key[128];

	/* a site first answers a change, then updates its own key */
	snprintf(key, sizeof(key), "staged/%s", k->key + strlen("site/"));
	s = nb_view_get(v, key);
	if (!s || strcmp(nb_view_str(s->value, "state"), "committed"))
		return n;
	staged = nb_view_int(s->value, "n");
	return n >= 0 && staged > n ? staged : n;
}

const json_t *nb_desired_due(const struct nb_view *v)
{
	const struct nb_view_key *wish = nb_view_get(v, "desired");
	const struct nb_view_key *applied = nb_view_get(v, "desired/applied");
	const struct nb_view_key *last = nb_view_get(v, "order/commit");
	const json_t *state = nb_coord_state_of(v);
	bool fresh = false, ours = false, others = false, ran = false;

	for (size_t i = nb_view_first(v, "site/"); nb_view_below(v, i, "site/");
	     i++) {
		int64_t n = site_change(v, &v->at[i]);
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
