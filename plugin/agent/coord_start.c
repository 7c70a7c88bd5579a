// SPDX-License-Identifier: MIT
/*
 * The policy with which jobs of this name start. The coordinator applies it as
 * an ordinary change once all ranks of a communicator have registered, and
 * again when a site joins. A request with the member keep saves it (policy use
 * start=yes).
 */
#include <stdio.h>
#include <string.h>

#include "plugin/agent/coord.h"

bool nb_coord_start(struct nb_coord *c)
{
	const json_t *due = nb_desired_due(&c->a->view);
	json_t *request;

	if (!due)
		*c->start_why = '\0';
	if (!due || (c->start_ms &&
		     nb_agent_ms() < c->start_ms + nb_agent_times.start_retry))
		return false;
	c->start_ms = nb_agent_ms();
	request = json_pack("{s:O,s:O*,s:O*,s:O}", "line",
			    json_object_get(due, "line"), "images",
			    json_object_get(due, "images"), "data",
			    json_object_get(due, "data"), "keep", due);
	if (!request) {
		snprintf(c->start_why, sizeof(c->start_why),
			 "key desired has no line");
		return false;
	}
	nb_coord_order_stage(c, "", request);
	json_decref(request);
	return true;
}

/*
 * Returns true if @line makes the same generation whatever the processes had
 * before: it lists all policies of all communicators, or imports them.
 */
static bool is_complete(const char *line)
{
	return !strcmp(line, NB_COORD_IMPORT) ||
	       (!strncmp(line, "policy use ", 11) && !strchr(line, '=') &&
		strcmp(line + 11, "common") != 0);
}

void nb_coord_use_take(struct nb_coord *c, const json_t *request)
{
	const char *line = nb_view_str(request, "line");

	if (is_complete(line))
		c->use = json_pack("{s:s,s:O?,s:O*,s:s}", "line", line,
				   "images", json_object_get(request, "images"),
				   "data", json_object_get(request, "data"),
				   "who", nb_view_str(request, "who"));
}

int nb_coord_start_take(struct nb_coord *c, const json_t *request)
{
	json_t *keep = json_object_get(request, "keep");
	const char *line = nb_view_str(request, "line");

	if (!keep)
		return 0;
	if (!json_is_object(keep) || strcmp(nb_view_str(keep, "line"), line) ||
	    !json_equal(json_object_get(keep, "images"),
			json_object_get(request, "images")) ||
	    strcmp(nb_view_str(keep, "data"), nb_view_str(request, "data")) ||
	    !is_complete(line))
		return nb_fail(
			&c->err, NB_E_ARG, 0,
			"a job can only start with a complete list of policies: policy use NAME... "
			"without comm=");
	c->start = json_incref(keep);
	return 0;
}

void nb_coord_start_put(struct nb_coord *c, struct nb_coord_txn *t)
{
	json_t *applied;

	if (!c->start)
		return;
	applied = json_deep_copy(c->start);
	json_object_set_new(applied, "n", json_integer(c->n));
	nb_coord_txn_put(c, t, "desired/applied", applied, 0);
	if (*c->request)
		nb_coord_txn_put(c, t, "desired", json_incref(c->start), 0);
	else
		nb_coord_audit_put(c, t, c->start, "the job starts with it");
}
