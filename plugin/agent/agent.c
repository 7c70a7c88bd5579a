// SPDX-License-Identifier: MIT
/*
 * The agent's main loop: the lease, copies of fleet records, ranks that wait at
 * a fence, and whose turn it is.
 */
#include "plugin/agent/agent.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plugin/agent/coordinator/coordinator.h"
#include "plugin/agent/site/facts.h"
#include "plugin/agent/site/follow.h"
#include "plugin/agent/site/order.h"
#include "plugin/job/registry.h"
#include "plugin/job/segment.h"

enum {
	ARMED_MS = 2,
	/* for this many sites, an agent scans its ranks 1 ms later */
	LOOK_SITES = 32,
	PENDING_MS = 10,
	/* longest delay of the answers that follow an outcome */
	LATE_SEEN_MS = 300,
	/*
	 * delay of the report that all ranks have switched, while no change is
	 * in progress
	 */
	TAKEN_MS = 1000,
	HASTY_MS = 3000,
	/* added to the compare interval for each site, and most of it */
	COMPARE_SITE_MS = 24,
	COMPARE_MORE_MS = 25000,
	/* keepalives of large jobs come later by this time at most */
	KEEP_MORE_MS = 800,
	/* value of nb_site_comm.asked if the store has no record */
	LOST_KEY = -1
};

static void lease_lost(struct nb_agent *a)
{
	a->lease = 0;
	nb_own_lease(&a->own, 0);
	a->term_over = true;
}

static void lease_granted(void *arg, const struct nb_store_reply *r)
{
	struct nb_agent *a = arg;

	a->lease_busy = false;
	a->lease_ms = nb_agent_ms();
	if (r->err) {
		nb_agent_failed(a, r->err);
		return;
	}
	nb_agent_revision(a, r->revision);
	a->lease = r->lease;
	nb_own_lease(&a->own, r->lease);
	nb_agent_state(a, true, "");
	/*
	 * a store that has lost its data has lost the lease, too: its revisions
	 * begin anew, so watches of later ones would report nothing
	 */
	nb_agent_follow(a, false);
}

static void lease_kept(void *arg, const struct nb_store_reply *r)
{
	struct nb_agent *a = arg;

	a->lease_busy = false;
	if (r->err && r->err->code != NB_E_NOENT) {
		nb_agent_failed(a, r->err);
		return;
	}
	a->lease_ms = nb_agent_ms();
	nb_agent_revision(a, r->revision);
	nb_agent_state(a, true, "");
	if (r->err || !r->ttl_s)
		lease_lost(a);
}

/*
 * Returns the time between two keepalives. Those of a large job are a large
 * part of the store's work; two of three may still fail.
 */
static uint64_t keep_ms(const struct nb_agent *a)
{
	unsigned more = a->sites < KEEP_MORE_MS ? a->sites : KEEP_MORE_MS;

	return nb_agent_times.keep + more;
}

static void lease_tick(struct nb_agent *a)
{
	uint64_t due = a->lease ? keep_ms(a) : nb_agent_times.retry;

	if (a->lease_busy || (a->lease_ms && nb_agent_ms() < a->lease_ms + due))
		return;
	a->lease_busy =
		!(a->lease ? nb_store_lease_keepalive(a->store, a->lease, lease_kept, a, NULL)
			   : nb_store_lease_grant(a->store, (int64_t)(nb_agent_times.lease / 1000),
						  lease_granted, a, NULL));
	a->lease_ms = nb_agent_ms();
}

/*
 * Copy into the segment why the fleet leaves communicators to NCCL. The
 * commands doctor and comm show print it.
 */
static void copy_notes(struct nb_agent *a)
{
	const struct nb_view_key *k = nb_view_get(&a->view, "order/notes");

	for (uint32_t i = 0; i < NB_SEG_COMMS; i++) {
		const struct nb_seg_comm *c = &a->site.seg->mem->comm[i];
		char id[17];

		if (!nb_site_shared(&a->site, i))
			continue;
		snprintf(id, sizeof(id), "%016llx", (unsigned long long)c->comm_id);
		nb_site_tell(&a->site, c->comm_id, k ? nb_view_str(k->value, id) : "");
	}
}

/*
 * Answer an arming at once. The coordinator needs the answer to an outcome only
 * before its next change, so that answer waits until the ranks have switched.
 */
static void answer_copies(struct nb_agent *a)
{
	a->pending = nb_site_pending(&a->site);
	a->pending_ms = nb_agent_ms();
	if (a->pending && !nb_site_armed(&a->site))
		a->seen_ms = a->pending_ms + LATE_SEEN_MS;
	else
		nb_agent_answer(a);
}

/* An armed record without its outcome is no better than a lost one. */
static bool lacks_record(const struct nb_agent *a, uint32_t i)
{
	return nb_site_lost(&a->site, i) || nb_site_outcome_lost(&a->site, i);
}

/* Log once that the store has lost a record, and once that it has it again. */
static void note_lost(const struct nb_agent *a, uint32_t i, bool before)
{
	bool now = lacks_record(a, i);

	if (now != before)
		nb_agent_log(now ? "communicator %016llx: the store lost the record that this site "
				   "has copied, or returned to an earlier revision; its ranks keep "
				   "their policies"
				 : "communicator %016llx: the store has its record again",
			     (unsigned long long)a->site.seg->mem->comm[i].comm_id);
}

static const char *record_key(const struct nb_agent *a, uint32_t i, char key[64])
{
	snprintf(key, 64, "order/record/%016llx",
		 (unsigned long long)a->site.seg->mem->comm[i].comm_id);
	return key;
}

/* Returns the store's record of the communicator of entry @i, or NULL. */
static const struct nb_view_key *store_record(const struct nb_agent *a, uint32_t i)
{
	char key[64];

	return nb_view_get(&a->view, record_key(a, i, key));
}

static void record_replaced(void *arg, const struct nb_store_reply *r)
{
	struct nb_site_comm *of = arg;

	if (r->err)
		of->asked = 0;
}

static void record_put_again(void *arg, const struct nb_store_reply *r)
{
	struct nb_site_comm *of = arg;

	of->asked = 0;
	if (!r->err && r->succeeded)
		of->again_ms = nb_agent_ms();
}

/*
 * Write @value to the store in place of the record @k of entry @i (NULL: there
 * is none), unless another writer does so first. Takes ownership of @value.
 */
static void replace_record(struct nb_agent *a, uint32_t i, const struct nb_view_key *k,
			   json_t *value, nb_store_done_fn *done)
{
	struct nb_site_comm *of = &a->site.comm[i];
	char *text = value ? json_dumps(value, JSON_COMPACT) : NULL;
	char key[64];
	struct nb_store_compare cmp = { .revision = k ? k->mod : 0 };
	struct nb_store_op put = { .kind = NB_STORE_PUT, .value = text };
	const struct nb_store_txn txn = { &cmp, 1, &put, 1, NULL, 0 };

	json_decref(value);
	if (!text)
		return;
	cmp.key = put.key = nb_agent_key(a, record_key(a, i, key));
	put.size = strlen(text);
	if (!nb_store_txn(a->store, &txn, done, of, NULL))
		of->asked = k ? k->mod : LOST_KEY;
	free(text);
}

/*
 * Write what this site has copied to a store that has lost it. The time between
 * two writes bounds what sites with contradictory copies write.
 */
static void put_again(struct nb_agent *a, uint32_t i, const struct nb_view_key *k)
{
	const struct nb_site_comm *of = &a->site.comm[i];
	bool armed = k && !strcmp(nb_view_str(k->value, "state"), "armed");

	if (of->asked != (k ? k->mod : LOST_KEY) &&
	    (!of->again_ms || nb_agent_ms() >= of->again_ms + nb_agent_times.compare))
		replace_record(a, i, k,
			       nb_site_again(&a->site, i, armed ? nb_record_id(k->value) : 0),
			       record_put_again);
}

/*
 * Copy the record of entry @i, if it has changed. Returns false if the segment
 * is locked.
 */
static bool copy_record(struct nb_agent *a, uint32_t i)
{
	uint64_t id = a->site.seg->mem->comm[i].comm_id;
	bool lost = nb_site_lost(&a->site, i), lacked = lacks_record(a, i);
	const struct nb_site_comm *of = &a->site.comm[i];
	const struct nb_view_key *k = store_record(a, i);

	if (!k || !*nb_view_str(k->value, "state")) {
		nb_site_missing(&a->site, i);
		/* the answer must no longer name the lost record */
		a->barrier_due |= nb_site_lost(&a->site, i) != lost;
	} else if (lost || k->mod != of->copied || nb_record_id(k->value) != of->id) {
		if (!nb_site_copy(&a->site, id, k->value, k->made, k->mod))
			return false;
		a->barrier_due = true;
	}
	note_lost(a, i, lacked);
	if (nb_site_lost(&a->site, i))
		put_again(a, i, k);
	return true;
}

static void copy_records(struct nb_agent *a)
{
	if (!a->copies_due || a->follow != NB_AGENT_FOLLOWING)
		return;
	a->copies_due = false;
	/* stop at a locked segment: each copy would wait for the lock */
	for (uint32_t i = 0; i < NB_SEG_COMMS && !a->copies_due; i++)
		a->copies_due = nb_site_shared(&a->site, i) && !copy_record(a, i);
	if (!a->barrier_due)
		return;
	a->barrier_due = !nb_site_barrier(&a->site);
	/* the agent's next round tries to write the copies again */
	a->copies_due |= a->barrier_due;
	if (!a->barrier_due)
		answer_copies(a);
	else
		nb_agent_state(
			a, true,
			"the kernel refuses membarrier(2) to the agent: fences cannot be decided");
}

/*
 * Roll back the armed record of the communicator of entry @i in the store,
 * because a rank has waited too long. The transaction fails if the coordinator
 * has written the record first. Not a record that was written again: its outcome
 * may be known to a site that has yet to see it.
 */
static void ask_fallback(struct nb_agent *a, uint32_t i)
{
	const struct nb_site_comm *of = &a->site.comm[i];
	const struct nb_view_key *k = store_record(a, i);

	if (a->follow == NB_AGENT_FOLLOWING && !nb_site_lost(&a->site, i) && k &&
	    k->mod == of->copied && k->mod != of->asked && !nb_record_again(k->value) &&
	    !strcmp(nb_view_str(k->value, "state"), "armed"))
		replace_record(a, i, k, nb_record_undo(k->value), record_replaced);
}

static void look_at_waits(struct nb_agent *a)
{
	uint64_t now = nb_agent_ms();
	uint32_t first = nb_site_waiting(&a->site, 0);

	if (first == NB_SEG_COMMS) {
		if (a->told_waiting)
			nb_agent_log("the ranks continue after %llu ms",
				     (unsigned long long)(now - a->waiting_ms));
		a->waiting_ms = 0;
		a->told_waiting = false;
		return;
	}
	if (!a->waiting_ms) {
		a->waiting_ms = now;
		nb_agent_answer(a);
	}
	if (now < a->waiting_ms + nb_agent_times.patience + nb_agent_crowd(a))
		return;
	if (!a->told_waiting)
		nb_agent_log("a rank of communicator %016llx waits at a fence for the store",
			     (unsigned long long)a->site.seg->mem->comm[first].comm_id);
	a->told_waiting = true;
	for (uint32_t i = first; i < NB_SEG_COMMS; i = nb_site_waiting(&a->site, i + 1))
		ask_fallback(a, i);
}

/*
 * Write the agent's own keys. Failed writes are retried at intervals, because
 * the store may be away.
 */
static void flush_own(struct nb_agent *a)
{
	uint64_t now = nb_agent_ms();

	if (a->own.failures && now < a->flush_ms + nb_agent_times.retry)
		return;
	a->flush_ms = now;
	nb_own_flush(&a->own);
}

/*
 * Compare the agent's keys with the store. The keys of a large job are compared
 * less often, like keepalives.
 */
static void compare_own(struct nb_agent *a)
{
	uint64_t more = (uint64_t)a->sites * COMPARE_SITE_MS;

	if (more > COMPARE_MORE_MS)
		more = COMPARE_MORE_MS;
	if (nb_agent_ms() < a->compare_ms + nb_agent_times.compare + more || a->away_ms)
		return;
	a->compare_ms = nb_agent_ms();
	nb_own_compare(&a->own);
}

/*
 * Write the ranks' positions when they have switched. Between two changes
 * nobody waits for these positions, and the site's report of the next staging
 * contains them.
 */
static void seen_tick(struct nb_agent *a)
{
	uint64_t now = nb_agent_ms();

	if (a->pending && !nb_site_pending(&a->site)) {
		a->pending = false;
		a->seen_ms = nb_agent_staged(a) ? now : now + TAKEN_MS;
	}
	if (a->seen_ms && now >= a->seen_ms)
		nb_agent_answer(a);
}

static void scan(struct nb_agent *a)
{
	nb_site_measure(&a->site);
	nb_agent_describe(a);
	copy_notes(a);
	/* a record may have to be written again */
	for (uint32_t i = 0; i < NB_SEG_COMMS; i++)
		a->copies_due |= nb_site_shared(&a->site, i) && nb_site_lost(&a->site, i);
}

/*
 * Returns true while ranks are expected to reach their fence soon. An idle
 * communicator may never reach it.
 */
static bool is_hasty(const struct nb_agent *a)
{
	return a->pending && nb_agent_ms() < a->pending_ms + HASTY_MS;
}

/*
 * Returns the interval between two scans of the segment. It is longer when the
 * site's keys have not changed for a while, because an idle agent should cost
 * nothing.
 */
static uint64_t scan_interval(const struct nb_agent *a)
{
	return nb_agent_ms() < a->own.changed_ms + nb_agent_times.calm ? nb_agent_times.scan
								       : nb_agent_times.calm_scan;
}

static void scan_tick(struct nb_agent *a)
{
	uint64_t now = nb_agent_ms();
	bool due = now >= a->scan_ms + scan_interval(a);

	if (due) {
		a->scan_ms = now;
		a->orders_due = true;
		scan(a);
	}
	if (due || is_hasty(a))
		seen_tick(a);
}

/*
 * Carry out orders when there are some, and now and then what has failed. While
 * ranks are near a fence, an agent that does not coordinate has many iterations
 * in which nothing has come.
 */
static void orders_tick(struct nb_agent *a, struct nb_coord *c)
{
	if (a->follow != NB_AGENT_FOLLOWING || (!a->orders_due && !a->whole))
		return;
	a->orders_due = false;
	nb_agent_orders(a);
	nb_coord_tick(c);
}

void nb_agent_take(struct nb_agent *a, struct nb_coord *c, struct nb_procs_result *r)
{
	a->orders_due = true;
	if (r->kind == NB_PROCS_EXPORT)
		nb_coord_state_came(c, r);
	else if (r->kind == NB_PROCS_PROPOSAL)
		nb_coord_proposal_came(c, r);
	else
		nb_agent_result(a, r);
}

int nb_agent_tick(struct nb_agent *a, struct nb_coord *c)
{
	struct nb_seg_agent *self = &a->site.seg->mem->agent;

	__atomic_store_n(&self->beat_ms, nb_agent_ms(), __ATOMIC_RELEASE);
	if (a->term_over)
		nb_coord_reset(c);
	a->term_over = false;
	lease_tick(a);
	if (a->follow == NB_AGENT_LOST && a->lease &&
	    nb_agent_ms() >= a->follow_ms + nb_agent_times.retry)
		nb_agent_follow(a, a->whole);
	copy_records(a);
	scan_tick(a);
	look_at_waits(a);
	orders_tick(a, c);
	flush_own(a);
	compare_own(a);
	if (nb_coord_busy(c))
		return ARMED_MS;
	if (nb_site_armed(&a->site))
		return ARMED_MS + (int)(a->sites / LOOK_SITES);
	return is_hasty(a) ? PENDING_MS + (int)(a->sites / LOOK_SITES) : (int)scan_interval(a);
}
