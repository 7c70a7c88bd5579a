// SPDX-License-Identifier: MIT
/*
 * Changes that controllers propose. The processes of the coordinator's site run
 * the controllers and announce a proposal in the segment. The coordinator
 * fetches its bytes, stores them like an image, and carries the change out as a
 * request.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "plugin/agent/coord.h"
#include "plugin/agent/group.h"
#include "plugin/agent/target.h"
#include "plugin/job/segment.h"

void nb_coord_proposal_end(struct nb_coord *c, uint64_t number, const char *why)
{
	struct nb_seg_agent *to = &c->a->site.seg->mem->agent;

	if (!number)
		return;
	c->proposal = 0;
	json_decref(c->proposed);
	c->proposed = NULL;
	snprintf(to->refused, sizeof(to->refused), "%s", why);
	__atomic_store_n(&to->finished, number, __ATOMIC_RELEASE);
}

void nb_coord_proposal_came(struct nb_coord *c, struct nb_procs_result *r)
{
	if (!r->err.code && nb_coord_store(c, r))
		return;
	nb_coord_proposal_end(
		c, r->n, r->err.code ? r->err.text : "the coordinator is busy");
	nb_procs_result_free(r);
}

void nb_coord_proposal_stored(struct nb_coord *c,
			      const struct nb_procs_result *r, const char *data)
{
	char line[96];

	snprintf(line, sizeof(line), "controller import %s", r->digest);
	json_decref(c->proposed);
	c->proposed = json_pack("{s:s,s:s,s:b}", "line", line, "data", data,
				"controllers", 1);
}

/* Ask the site's processes for the proposal. */
static void fetch_proposal(struct nb_coord *c, uint64_t number)
{
	struct nb_procs_order *o = nb_procs_order_new();

	if (!o)
		return;
	o->kind = NB_PROCS_PROPOSAL;
	o->n = number;
	if (nb_procs_give(c->a->procs, o))
		c->proposal = number;
	else
		nb_procs_order_free(o);
}

bool nb_coord_proposal(struct nb_coord *c)
{
	const struct nb_seg *mem = c->a->site.seg->mem;
	uint64_t number = __atomic_load_n(&mem->proposal, __ATOMIC_ACQUIRE);
	char why[240];

	if (c->proposed) {
		json_t *request = c->proposed;

		c->proposed = NULL;
		number = c->proposal;
		/*
		 * Set the proposal only after nb_coord_order_stage, which ends
		 * the previous change and would end this proposal too.
		 */
		c->proposal = 0;
		nb_coord_order_stage(c, "", request);
		c->proposal = number;
		json_decref(request);
		return true;
	}
	if (!number || number == mem->agent.finished || number == c->proposal ||
	    c->saving || nb_procs_busy(c->a->procs))
		return false;
	if (nb_groups_whole(&c->a->view, why, sizeof(why)))
		fetch_proposal(c, number);
	else
		nb_coord_proposal_end(c, number, why);
	return false;
}
