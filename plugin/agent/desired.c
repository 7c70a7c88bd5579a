// SPDX-License-Identifier: MIT
/*
 * What a job of this name starts with. Key desired has the request line, which
 * job set and policy use keep=yes write. desired/applied has the change by
 * which the running job got it, so that a site that joins gets the same.
 */
#include <stdio.h>
#include <string.h>

#include "plugin/agent/target.h"

/* Number in the fleet of the change that a site has made last; 0: none yet. */
static int64_t site_change(const struct nb_view *v, const struct nb_view_key *k)
{
	int64_t n = nb_view_int(k->value, "change"), staged;
	const struct nb_view_key *s;
	char key[128];

	/* the answer to a change comes earlier than the site's own key */
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
	bool fresh = false, ours = false;

	for (size_t i = nb_view_first(v, "site/"); nb_view_below(v, i, "site/");
	     i++) {
		int64_t n = site_change(v, &v->at[i]);

		if (!n)
			fresh = true;
		else if (applied && n == nb_view_int(applied->value, "n"))
			ours = true;
		else
			return NULL; /* an operator has changed the job since */
	}
	if (!fresh || !nb_targets_started(v))
		return NULL;
	if (ours)
		return applied->value;
	return wish ? wish->value : NULL;
}
