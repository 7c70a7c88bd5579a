// SPDX-License-Identifier: MIT
/*
 * Runs the controllers, in steps of the control thread. The processes of the
 * job elect one of them by a compare-and-swap on a word of the segment, and
 * elect another one when it has ended. A round has these phases: wait for the
 * interval; gather, until all processes have posted their merged maps; run;
 * stage, until all processes have staged the run's changes; commit. Correctness
 * does not depend on the election: two elected processes stage different
 * digests, and a commit needs the same digest in all processes.
 */
#include "plugin/controller/controller.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/bpf/generation/controller.h"
#include "plugin/change/change.h"
#include "plugin/change/sync.h"
#include "plugin/change/stage.h"
#include "plugin/controller/election.h"
#include "plugin/controller/proposal.h"
#include "plugin/job/registry.h"
#include "plugin/job/segment.h"
#include "plugin/job/self.h"
#include "plugin/job/step.h"
#include "plugin/policies/generations.h"
#include "plugin/runtime/clock.h"
#include "plugin/runtime/lock.h"
#include "plugin/runtime/log.h"
#include "plugin/runtime/params.h"
#include "plugin/runtime/wall_clock.h"

#define MS UINT64_C(1000000)

enum {
	GATHER_MS = 500, /* longest wait for the maps of the other processes */
	STAGE_MS = 2000,
	BEAT_MS = 500,
	/* pause after the fleet has refused a change */
	REFUSED_MS = 3000,
	/* number of generations that controllers leave for changes by people */
	RESERVE = 4096,
	/*
	 * merging and running use at most 1/SHARE of the control thread's time
	 */
	SHARE = 5,
	QUICK_MS = 20,
	SLOW_MS = 100
};

static const uint64_t interval_least = 20 * MS;
static const uint64_t interval_most = UINT64_C(3600000) * MS;

/* state of the controllers; NULL: no policy in use had any */
static struct nb_controllers *loop;

static const struct nb_seg_proc *self_of(void)
{
	return &nb_self.seg->mem->proc[nb_self.seg->proc];
}

static bool open_mailbox(void)
{
	struct nb_controllers *l = loop;
	char name[sizeof(nb_self.dir.job) + 8];
	struct nb_err err;

	if (l->mailbox.fd >= 0)
		return true;
	snprintf(name, sizeof(name), "%s.loop", nb_self.dir.job);
	if (!nb_mailbox_open(&l->mailbox, &nb_self.dir, name, &err))
		return true;
	if (!l->mailbox_failed)
		nb_log_err("controllers only see the maps of their own process", &err);
	l->mailbox_failed = true;
	return false;
}

static void note_failure(const struct nb_err *err)
{
	struct nb_controllers *l = loop;

	l->state.failures++;
	if (strcmp(l->state.error, err->text) != 0)
		nb_log_err("controller", err);
	snprintf(l->state.error, sizeof(l->state.error), "%.190s", err->text);
}

static void post_state(void)
{
	struct nb_controllers *l = loop;
	struct nb_err err;

	l->state.token = self_of()->token;
	l->state.beat++;
	l->posted_ns = nb_clock_system();
	if (nb_self.seg->shared && open_mailbox() &&
	    nb_mailbox_post(&l->mailbox, nb_self.seg->proc, NB_MAILBOX_STATE, &l->state,
			    sizeof(l->state), &err))
		note_failure(&err);
}

/* Header of a mailbox record that describes a change. */
struct record_change {
	uint64_t number;
	uint8_t from[NB_SHA256_SIZE];
};

static void take_office(void)
{
	struct nb_controllers *l = loop;

	l->elected = true;
	l->phase = NB_CONTROLLERS_IDLE;
	l->next_ns = nb_clock_system();
	l->last_run_ns = 0;
	memset(l->have, 0, sizeof(l->have));
	memset(&l->state, 0, sizeof(l->state));
	l->state.interval_ns = (uint64_t)nb_params.num[NB_P_CONTROLLER_MS] * MS;
	l->state.elected_us = nb_wall_us();
	nb_log(NB_LOG_INFO, "this process runs the controllers of the job");
	NB_STEP(LOOP_ELECTED);
	post_state();
}

/* Read the election, and elect this process if none is elected. */
static void elect_self(void)
{
	const enum nb_election_result r = nb_election_run(nb_self.seg, &loop->looked_ns);

	if (r == NB_ELECTION_WON || (r == NB_ELECTION_HELD && !loop->elected))
		take_office();
	else if (r == NB_ELECTION_OTHER)
		loop->elected = false;
}

static void resign_election(void)
{
	nb_election_resign(nb_self.seg);
	loop->elected = false;
}

/* Returns true if a change of another origin is staged. */
static bool others_staged(void)
{
	const struct nb_controllers *l = loop;
	bool is;

	nb_lock(NB_LOCK_STATE);
	nb_change_sync();
	is = nb_gens.staged &&
	     (!l->staged || memcmp(nb_gens.staged->digest, l->digest, NB_SHA256_SIZE) != 0);
	nb_unlock(NB_LOCK_STATE);
	return is;
}

static void unstage_change(void)
{
	struct nb_controllers *l = loop;

	if (l->staged && nb_gens.staged &&
	    !memcmp(nb_gens.staged->digest, l->digest, NB_SHA256_SIZE))
		nb_change_abort(l->digest, NULL);
	l->staged = false;
}

/* Stage the change @bytes to generation @from; sets l->digest. */
static int stage_change(const uint8_t from[NB_SHA256_SIZE], const void *bytes, size_t size,
			struct nb_err *err)
{
	struct nb_controllers *l = loop;
	uint8_t digest[NB_SHA256_SIZE];
	int rc;

	if (others_staged())
		return nb_fail(err, NB_E_BUSY, 0,
			       "another change is staged: change status shows it");
	rc = nb_proposal_stage(from, bytes, size, digest, err);
	if (rc)
		return rc;
	memcpy(l->digest, digest, sizeof(digest));
	l->staged = true;
	return 0;
}

static void answer_request(uint64_t request)
{
	struct nb_err err;
	struct nb_gen *g;

	nb_lock(NB_LOCK_STATE);
	g = nb_gen_get(nb_gens.baseline);
	nb_unlock(NB_LOCK_STATE);
	if (nb_controllers_post_maps(&loop->mailbox, nb_self.seg, g, request, &err))
		note_failure(&err);
	nb_lock(NB_LOCK_STATE);
	nb_gen_put(g);
	nb_unlock(NB_LOCK_STATE);
	loop->answered = request;
	NB_STEP(LOOP_ANSWERED);
}

static void follow_change(uint32_t elected, uint64_t number)
{
	struct nb_controllers *l = loop;
	struct record_change head;
	struct nb_err err = { 0 };
	struct nb_buf b;

	unstage_change();
	if (number && nb_mailbox_read(&l->mailbox, elected, NB_MAILBOX_CHANGE, &b)) {
		bool whole = b.size >= sizeof(head);

		if (whole) {
			memcpy(&head, b.data, sizeof(head));
			whole = head.number == number;
		}
		if (whole &&
		    stage_change(head.from, b.data + sizeof(head), b.size - sizeof(head), &err))
			note_failure(&err);
		nb_buf_fini(&b);
		if (!whole)
			/*
			 * the change is partly written: try again in the next
			 * step
			 */
			return;
	}
	l->seen = number;
	NB_STEP(LOOP_FOLLOWED);
}

static void follow_elected(void)
{
	struct nb_controllers *l = loop;
	const struct nb_election e = nb_election_read(nb_self.seg);
	struct nb_controllers_state s;

	if (e.entry == NB_SEG_PROCS || !open_mailbox() ||
	    !nb_controllers_read_state(&l->mailbox, nb_self.seg->mem, e.entry, &s))
		return;
	/*
	 * another process was elected; it numbers its own requests and changes
	 */
	if (e.word != l->word) {
		l->word = e.word;
		l->answered = l->seen = 0;
		unstage_change();
	}
	if (s.request != l->answered)
		answer_request(s.request);
	if (s.change != l->seen)
		follow_change(e.entry, s.change);
}

static void merge_all(struct nb_gen *own, const struct nb_gen *g, const struct nb_election_other *m,
		      int n)
{
	struct nb_controllers *l = loop;
	struct nb_err err;
	struct nb_buf b;

	l->state.missing = 0;
	if (nb_controllers_pack(&b, g, &err)) {
		note_failure(&err);
	} else {
		nb_controllers_merge(own, b.data, b.size, &l->state.lost);
		nb_buf_fini(&b);
	}
	NB_STEP(LOOP_MERGING);
	for (int i = 0; i < n; i++)
		l->state.missing += !nb_controllers_merge_answer(l, own, &m[i]);
}

/* Set ctx->comms and ctx->ranks: the communicators and ranks of the segment. */
static void count_ranks(const struct nb_seg *mem, struct ncclbpf_controller *ctx)
{
	for (uint32_t i = 0, n = nb_seg_ncomms(mem); i < n; i++) {
		const struct nb_seg_comm *c = &mem->comm[i];

		if (!__atomic_load_n(&c->in_use, __ATOMIC_ACQUIRE))
			continue;
		ctx->comms++;
		for (uint32_t k = 0; k < NB_SEG_SLOTS; k++)
			ctx->ranks += __atomic_load_n(&c->slot[k].state, __ATOMIC_RELAXED) ==
				      NB_SLOT_LIVE;
	}
}

/*
 * Add the runs of the controllers in @own, the generation that ran, to the
 * counts of @g, the one in use (`policy show`).
 */
static void count_policies(struct nb_gen *g, const struct nb_gen *own)
{
	for (uint32_t i = 0; i < own->nevents; i++)
		for (uint32_t k = 0; k < g->nevents; k++)
			if (g->event[k].policy == own->event[i].policy &&
			    g->event[k].prog == own->event[i].prog)
				__atomic_fetch_add(&g->event[k].sum.runs, 1, __ATOMIC_RELAXED);
}

/* @began: when the merge for this run began */
static void run_controllers(struct nb_gen *own, struct nb_gen *g, uint32_t number, int others,
			    uint64_t began)
{
	struct nb_controllers *l = loop;
	uint64_t now = nb_clock_system(), took, all;
	struct ncclbpf_controller ctx = {
		.now_ns = now,
		.since_ns = l->last_run_ns ? now - l->last_run_ns : 0,
		.run = l->state.runs,
		.generation = number,
		.changes = l->state.changes,
		.failures = l->state.failures,
		.processes = (uint32_t)others + 1,
		.missing = (uint32_t)l->state.missing,
		.interval_ns = l->state.interval_ns,
		.wall_ns = nb_wall_us() * 1000,
	};

	nb_lock(NB_LOCK_STATE);
	count_ranks(nb_self.seg->mem, &ctx);
	nb_unlock(NB_LOCK_STATE);
	nb_controllers_run(own, &ctx);
	took = nb_clock_system() - now;
	all = now + took - began;
	count_policies(g, own);
	l->last_run_ns = now;
	l->state.runs++;
	l->state.run_ns = took;
	if (ctx.interval_ns < interval_least)
		ctx.interval_ns = interval_least;
	if (ctx.interval_ns > interval_most)
		ctx.interval_ns = interval_most;
	l->state.interval_ns = ctx.interval_ns;
	l->next_ns = now + (ctx.interval_ns > all * SHARE ? ctx.interval_ns : all * SHARE);
}

/*
 * Stage the run's changes in this process, and post them for all processes. In
 * a fleet, propose them to the coordinator instead.
 */
static int propose_change(const struct nb_gen *g, const struct nb_buf *change, bool alone,
			  struct nb_err *err)
{
	struct nb_controllers *l = loop;
	struct record_change head = { l->state.runs, { 0 } };
	struct nb_buf all;
	int rc;

	if (nb_self.seg->mem->next_gen > NB_FENCE_MAX_GEN - RESERVE)
		return nb_fail(err, NB_E_LIMIT, 0,
			       "the last %d generation numbers are reserved for people's changes",
			       RESERVE);
	l->phase = NB_CONTROLLERS_FLEET;
	if (nb_params_fleet())
		return nb_proposal_make(g->digest, change->data, change->size, err);
	l->phase = NB_CONTROLLERS_STAGE;
	rc = stage_change(g->digest, change->data, change->size, err);
	if (rc || alone)
		return rc;
	NB_STEP(LOOP_STAGED);
	memcpy(head.from, g->digest, NB_SHA256_SIZE);
	nb_buf_init(&all, 0);
	nb_buf_bytes(&all, &head, sizeof(head));
	nb_buf_bytes(&all, change->data, change->size);
	rc = nb_buf_ok(&all) ? nb_mailbox_post(&l->mailbox, nb_self.seg->proc, NB_MAILBOX_CHANGE,
					       all.data, all.size, err)
			     : nb_fail(err, NB_E_NOMEM, 0, "no memory");
	nb_buf_fini(&all);
	if (!rc)
		l->state.change = head.number;
	return rc;
}

/* End the change. @why is the reason of a failure, or NULL on success. */
static void finish_change(const struct nb_err *why)
{
	struct nb_controllers *l = loop;

	if (why) {
		unstage_change();
		note_failure(why);
	} else {
		l->state.changes++;
		l->state.error[0] = '\0';
	}
	l->staged = false;
	l->state.change = 0;
	l->phase = NB_CONTROLLERS_IDLE;
}

static void commit_change(void)
{
	struct nb_change *c = calloc(1, sizeof(*c));
	struct nb_err err;

	if (!c) {
		nb_fail(&err, NB_E_NOMEM, 0, "no memory for a change");
		finish_change(&err);
		return;
	}
	nb_change_by_nobody();
	NB_STEP(LOOP_AGREED);
	if (nb_change_commit(loop->digest, NB_CHANGE_ANY, c, &err)) {
		finish_change(&err);
	} else {
		nb_log(NB_LOG_DEBUG, "controllers made generation %llu",
		       (unsigned long long)c->shown);
		NB_STEP(LOOP_COMMITTED);
		if (c->state == NB_CHANGE_UNCHANGEABLE)
			nb_fail(&err, NB_E_REFUSED, 0, "no communicator changes: %.150s",
				c->ncomms ? c->comm[0].why : c->why);
		finish_change(c->state == NB_CHANGE_UNCHANGEABLE ? &err : NULL);
	}
	free(c);
}

/*
 * Run the controllers on the maps received so far, then stage their changes, if
 * there are any.
 */
static int run_once(struct nb_gen *g, uint32_t number, const struct nb_election_other *m, int n,
		    struct nb_err *err)
{
	struct nb_buf change;
	const uint64_t began = nb_clock_system();
	struct nb_gen *own;
	uint32_t elements;
	int rc = nb_gen_for_controllers(&own, g, err);

	if (rc)
		return rc;
	merge_all(own, g, m, n);
	loop->state.incomplete += loop->state.missing != 0;
	NB_STEP(LOOP_MERGED);
	run_controllers(own, g, number, n, began);
	NB_STEP(LOOP_RAN);
	rc = nb_controllers_diff(&change, &elements, own, g, err);
	nb_gen_put(own);
	loop->phase = NB_CONTROLLERS_IDLE;
	if (rc)
		return rc;
	if (elements)
		rc = propose_change(g, &change, !n, err);
	nb_buf_fini(&change);
	return rc;
}

/* Returns the generation in use. Release it with put_generation. */
static struct nb_gen *get_generation(uint32_t *number)
{
	struct nb_gen *g;

	nb_lock(NB_LOCK_STATE);
	nb_change_sync();
	g = nb_gen_get(nb_gens.baseline);
	*number = nb_gens.baseline_number;
	nb_unlock(NB_LOCK_STATE);
	return g;
}

static void put_generation(struct nb_gen *g)
{
	nb_lock(NB_LOCK_STATE);
	nb_gen_put(g);
	nb_unlock(NB_LOCK_STATE);
}

static void have_gathered(const struct nb_election_other *m, int n)
{
	struct nb_controllers *l = loop;
	struct nb_err err = { 0 };
	uint32_t number;
	struct nb_gen *g = get_generation(&number);
	int rc;

	l->next_ns = nb_clock_system() + l->state.interval_ns;
	rc = run_once(g, number, m, n, &err);
	put_generation(g);
	if (rc)
		finish_change(&err);
	l->until_ns = nb_clock_system() + STAGE_MS * MS;
	if (!rc && l->phase == NB_CONTROLLERS_STAGE && !n)
		commit_change();
	post_state();
	if (l->phase == NB_CONTROLLERS_STAGE)
		NB_STEP(LOOP_PROPOSED);
}

static void begin_round(void)
{
	struct nb_controllers *l = loop;

	l->state.request++;
	l->phase = NB_CONTROLLERS_GATHER;
	l->until_ns = nb_clock_system() + GATHER_MS * MS;
	post_state();
	NB_STEP(LOOP_ASKED);
}

static void wait_staged(void)
{
	struct nb_controllers *l = loop;
	struct nb_err err = { 0 };
	int rc = nb_change_staged(l->digest, &err);

	if (rc && nb_clock_system() < l->until_ns)
		return;
	if (rc)
		finish_change(&err);
	else
		commit_change();
	post_state();
}

/* Post the state at intervals, for processes that start to follow. */
static void post_beat(void)
{
	if (nb_clock_system() > loop->posted_ns + BEAT_MS * MS)
		post_state();
}

/* Wait until the coordinator has carried the proposal out on all sites. */
static void wait_fleet(void)
{
	struct nb_controllers *l = loop;
	struct nb_err why;

	post_beat();
	if (!nb_proposal_ended(&why))
		return;
	finish_change(why.code ? &why : NULL);
	if (why.code)
		l->next_ns = nb_clock_system() + REFUSED_MS * MS;
	post_state();
}

/*
 * Ask the other processes for their maps when the interval has passed, and run
 * the controllers when they have answered.
 */
static void gather(void)
{
	struct nb_controllers *l = loop;
	struct nb_election_other *m;
	int n;

	if (l->phase == NB_CONTROLLERS_IDLE) {
		if (nb_clock_system() < l->next_ns) {
			post_beat();
			return;
		}
		begin_round();
	}
	m = calloc(NB_SEG_PROCS, sizeof(*m));
	n = m ? nb_election_others(nb_self.seg, m) : -1;
	if (n >= 0 && (!nb_controllers_unanswered(loop, m, n) || nb_clock_system() >= l->until_ns))
		have_gathered(m, n);
	free(m);
}

static void lead_round(void)
{
	switch (loop->phase) {
	case NB_CONTROLLERS_STAGE:
		wait_staged();
		break;
	case NB_CONTROLLERS_FLEET:
		wait_fleet();
		break;
	case NB_CONTROLLERS_IDLE:
	case NB_CONTROLLERS_GATHER:
		gather();
		break;
	}
}

static bool controllers_wanted(void)
{
	bool is;

	nb_lock(NB_LOCK_STATE);
	is = nb_self.seg && nb_controllers_wanted(nb_gens.baseline);
	nb_unlock(NB_LOCK_STATE);
	return is;
}

static struct nb_controllers *have_loop(void)
{
	if (!loop) {
		loop = calloc(1, sizeof(*loop));
		if (loop)
			loop->mailbox.fd = -1;
	}
	return loop;
}

/* Returns false if another site of the fleet runs the controllers. */
static bool is_our_site(void)
{
	return !nb_params_fleet() || nb_proposal_coordinates();
}

/* Drop the current round, and run nothing. */
static void rest(void)
{
	struct nb_controllers *l = loop;

	if (l->phase == NB_CONTROLLERS_STAGE) {
		unstage_change();
		l->state.change = 0;
	}
	nb_proposal_drop();
	l->phase = NB_CONTROLLERS_IDLE;
	post_beat();
}

void nb_controllers_tick(void)
{
	if (!controllers_wanted()) {
		if (loop)
			loop->active = false;
		if (loop && nb_self.seg && loop->elected) {
			unstage_change();
			nb_proposal_drop();
			resign_election();
		}
		return;
	}
	if (!have_loop())
		return;
	loop->active = true;
	elect_self();
	if (!loop->elected)
		follow_elected();
	else if (nb_election_read(nb_self.seg).paused || !is_our_site())
		rest();
	else
		lead_round();
}

int nb_controllers_patience(void)
{
	return loop && loop->active ? QUICK_MS : SLOW_MS;
}

void nb_controllers_forked(void)
{
	nb_proposal_forked();
	if (!loop)
		return;
	nb_mailbox_close(&loop->mailbox);
	memset(loop, 0, sizeof(*loop));
	loop->mailbox.fd = -1;
}

void nb_controllers_resign(void)
{
	if (loop && nb_self.seg)
		resign_election();
}

void nb_controllers_status(struct nb_controllers_info *out)
{
	struct nb_election e;

	memset(out, 0, sizeof(*out));
	if (!nb_self.seg)
		return;
	e = nb_election_read(nb_self.seg);
	out->wanted = controllers_wanted();
	out->paused = e.paused;
	if (!is_our_site())
		return;
	out->pid = e.pid;
	out->here = loop && loop->elected;
	if (out->here) {
		out->known = true;
		out->state = loop->state;
	} else if (e.entry < NB_SEG_PROCS && have_loop() && nb_self.seg->shared && open_mailbox()) {
		out->known = nb_controllers_read_state(&loop->mailbox, nb_self.seg->mem, e.entry,
						       &out->state);
	}
}

void nb_controllers_pause(bool pause)
{
	if (nb_self.seg)
		nb_election_pause(nb_self.seg, pause);
}
