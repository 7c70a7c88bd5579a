// SPDX-License-Identifier: MIT
/*
 * The coordinator: one agent of the fleet, which holds the key
 * order/coordinator under its lease. It acts on a view of one moment of the
 * store, by transactions that compare what they rely on.
 */
#include "plugin/agent/coordinator/coordinator.h"

#include <stdlib.h>
#include <string.h>

#include "plugin/agent/site/follow.h"
#include "plugin/job/segment.h"

/*
 * take: nb_coord_audit comes after nb_coord_controllers and nb_coord_guard,
 * because it names the maker of the change by what they have kept.
 *
 * due: the first part that begins work keeps the others waiting. The recovery
 * comes first: no change may begin while records that a dead coordinator armed
 * are undecided. A user's request comes before a proposal of controllers, and a
 * guard before a start, because it restores what a lost runner has left.
 * nb_coord_sweep comes last, as nothing waits for it.
 */
const struct nb_coord_part *const nb_coord_parts[NB_COORD_PARTS] = {
	&nb_coord_recovery, &nb_coord_requests, &nb_coord_use,	 &nb_coord_controllers,
	&nb_coord_saved,    &nb_coord_members,	&nb_coord_notes, &nb_coord_guard,
	&nb_coord_start,    &nb_coord_reply,	&nb_coord_audit, &nb_coord_catch_up,
	&nb_coord_sweep
};

struct nb_coord *nb_coord_new(struct nb_agent *a)
{
	struct nb_coord *c = calloc(1, sizeof(*c));

	if (c)
		c->a = a;
	return c;
}

void nb_coord_free(struct nb_coord *c)
{
	if (!c)
		return;
	nb_coord_change_free(c);
	nb_coord_saving_free(c->saving);
	json_decref(c->saved);
	json_decref(c->proposed);
	json_decref(c->notes);
	free(c);
}

/* What the controllers learn of a change whose coordinator's term ends. */
static const char *term_interrupted(const struct nb_coord *c)
{
	if (c->by_controllers && c->committing)
		return "the coordinator was interrupted; it is unknown whether "
		       "the change took effect";
	if (c->by_controllers && c->state == NB_COORD_SETTLING)
		return ""; /* it is committed */
	return "the coordinator was interrupted";
}

void nb_coord_reset(struct nb_coord *c)
{
	nb_coord_proposal_end(c, c->proposal, term_interrupted(c));
	nb_coord_change_free(c);
	nb_coord_saving_free(c->saving);
	c->saving = NULL;
	json_decref(c->saved);
	c->saved = NULL;
	c->term++;
	c->state = NB_COORD_IDLE;
	c->key_mod = c->done_rev = c->old_rev = 0;
	c->sweep_ms = 0;
	c->recovered = c->sending = c->lost = c->committing = false;
	c->refused = NULL;
}

bool nb_coord_busy(const struct nb_coord *c)
{
	return c->proposed || c->refused || (c->state != NB_COORD_IDLE && !c->sending);
}

static void coord_claimed(struct nb_coord *c, const struct nb_store_reply *r)
{
	c->key_mod = r->revision;
	c->told = false;
	nb_agent_log("%s coordinates job %s", c->a->name, c->a->dir.job);
	nb_agent_follow(c->a, true);
}

/*
 * Try to become the coordinator. @mod: revision of the key that an earlier
 * agent of our site left; 0 if there is no such key
 */
static void coord_claim(struct nb_coord *c, int64_t mod)
{
	struct nb_coord_txn *t = nb_coord_txn_new(c);

	if (!t)
		return;
	nb_coord_txn_compare(c, t, "order/coordinator", mod);
	nb_coord_txn_put(c, t, "order/coordinator", json_pack("{s:s}", "site", c->a->name),
			 c->a->lease);
	(void)nb_coord_txn_send(c, t, coord_claimed);
}

/*
 * Returns true if we are the coordinator and have read all keys. Tries to
 * become the coordinator if there is none, or if our term has ended.
 */
static bool is_coordinator(struct nb_coord *c)
{
	const struct nb_view_key *k = nb_view_get(&c->a->view, "order/coordinator");
	bool ours = k && !strcmp(nb_view_str(k->value, "site"), c->a->name);
	bool none = !k || !*nb_view_str(k->value, "site");

	if (c->lost) {
		nb_coord_reset(c);
		c->lost_ms = nb_agent_ms();
	}
	if (!c->a->lease)
		return false;
	if (ours && k->mod == c->key_mod)
		return c->a->whole;
	if (c->key_mod)
		nb_coord_reset(c);
	if (none || ours) {
		if (nb_coord_current(c) &&
		    (!c->lost_ms || nb_agent_ms() >= c->lost_ms + nb_agent_times.retry))
			coord_claim(c, k ? k->mod : 0);
	} else if (c->a->whole) {
		nb_agent_follow(c->a, false);
	}
	return false;
}

/* Begin the work that is due between two changes. */
static void coord_idle(struct nb_coord *c)
{
	uint64_t now = nb_agent_ms();
	bool all = now >= c->idle_ms + nb_agent_times.catch_up;

	for (int i = 0; i < NB_COORD_PARTS; i++) {
		const struct nb_coord_part *p = nb_coord_parts[i];

		if (!p->due || (!all && !p->at_once))
			continue;
		if (!p->at_once)
			c->idle_ms = now;
		if (p->due(c))
			return;
	}
}

void nb_coord_tick(struct nb_coord *c)
{
	struct nb_seg_agent *self = &c->a->site.seg->mem->agent;
	bool is = is_coordinator(c);

	__atomic_store_n(&self->coordinates_ms, is && !c->a->away_ms ? self->beat_ms : 0,
			 __ATOMIC_RELEASE);
	if (!is || !nb_coord_current(c))
		return;
	if (c->refused) {
		nb_coord_refused_fn *then = c->refused;

		c->refused = NULL;
		then(c);
	} else if (c->state == NB_COORD_IDLE)
		coord_idle(c);
	else
		nb_coord_step(c);
}
