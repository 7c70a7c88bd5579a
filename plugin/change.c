// SPDX-License-Identifier: MIT
// Changes: a generation is made ready here (staged), and one process commits
// its digest for the whole job. The order of locks is segment, then runtime.
// A commit holds the segment's lock from its checks to its end, so that no
// process joins, leaves or stages meanwhile, and no lock that a decision or a
// status query needs.
#include "plugin/change.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "core/job/agree.h"
#include "plugin/begin.h"
#include "plugin/fence.h"
#include "plugin/reach.h"
#include "plugin/runtime.h"
#include "plugin/segment.h"
#include "plugin/step.h"

enum {
	LOCK_MS = 3000,
	JOIN_MS = 1000, /* wait for ranks whose communicator is being made */
	POLL_MS = 20,
	REST_MS = 1, /* a rank that begins nothing for so long is at rest */
	/* All fences of a change together, under the segment's lock: well
	 * below what a process that starts, or a rank that joins, waits for it
	 * (nb_segment_attach, nb_comm_new). One that gave up would begin with
	 * another generation than its peers. */
	COMMIT_MS = 1500,
	DECIDE_US = 100 /* a fence is decided in less, unless CPUs are busy */
};

const char *nb_change_state_word(enum nb_change_state s)
{
	static const char *const words[] = { "staged", "committed", "aborted",
					     "unchangeable" };

	return words[s];
}

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = (char)tolower((unsigned char)c);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

int nb_change_digest(uint8_t digest[NB_SHA256_SIZE], const char *text,
		     struct nb_err *err)
{
	uint8_t out[NB_SHA256_SIZE];

	for (size_t i = 0; i < NB_SHA256_SIZE; i++) {
		int hi = text[2 * i] ? digit(text[2 * i]) : -1;
		int lo = hi >= 0 ? digit(text[2 * i + 1]) : -1;

		if (lo < 0)
			return nb_fail(err, NB_E_ARG, 0,
				       "%.80s: a digest has %d hexadecimal "
				       "digits",
				       text, 2 * NB_SHA256_SIZE);
		out[i] = (uint8_t)(hi << 4 | lo);
	}
	if (text[(size_t)2 * NB_SHA256_SIZE])
		return nb_fail(err, NB_E_ARG, 0,
			       "%.80s: a digest has %d hexadecimal digits",
			       text, 2 * NB_SHA256_SIZE);
	memcpy(digest, out, sizeof(out));
	return 0;
}

static uint64_t now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

static void sleep_ms(long ms)
{
	struct timespec ts = { 0, ms * 1000000 };

	nanosleep(&ts, NULL);
}

/* ---- staging ---- */

/*
 * Put @g (a kept generation) in place as the staged one. The segment learns it
 * first: from then on no coordinator can commit what was staged before.
 */
static int stage(struct nb_runtime *rt, struct nb_gen *g,
		 uint8_t digest[NB_SHA256_SIZE], struct nb_err *err)
{
	struct nb_seg_proc *self;
	int rc = nb_segment_lock(rt->seg, LOCK_MS, err);

	if (rc)
		return rc;
	self = &rt->seg->mem->proc[rt->seg->proc];
	memcpy(self->digest, g->digest, NB_SHA256_SIZE);
	self->staged = 1;
	nb_runtime_lock(rt);
	/* what was staged before may have been committed meanwhile: it must be
	 * the baseline before the sweep looks for what is in use */
	nb_runtime_sync(rt);
	rt->staged = g;
	memcpy(digest, g->digest, NB_SHA256_SIZE);
	nb_runtime_sweep(rt);
	nb_runtime_unlock(rt);
	nb_segment_unlock(rt->seg);
	return 0;
}

/* Keep and stage a new generation; takes the reference. */
static int stage_new(struct nb_runtime *rt, struct nb_gen *g,
		     uint8_t digest[NB_SHA256_SIZE], struct nb_err *err)
{
	struct nb_gen *before, *kept;
	int rc;

	nb_runtime_lock(rt);
	before = rt->staged;
	kept = nb_runtime_gen_keep(rt, g, err);
	rt->staged = kept ? kept : before; /* no sweep may take it now */
	nb_runtime_unlock(rt);
	if (!kept)
		return NB_E_LIMIT;
	rc = stage(rt, kept, digest, err);
	if (!rc)
		return 0;
	nb_runtime_lock(rt);
	rt->staged = before;
	nb_runtime_unlock(rt);
	return rc;
}

int nb_change_stage_gen(struct nb_runtime *rt, struct nb_gen *g,
			uint8_t digest[NB_SHA256_SIZE], struct nb_err *err)
{
	return stage_new(rt, g, digest, err);
}

static int find_all(struct nb_runtime *rt, const char *const *names, uint32_t n,
		    struct nb_policy **policies, struct nb_err *err)
{
	for (uint32_t i = 0; i < n; i++) {
		struct nb_err why = { 0 };
		struct nb_held *h = nb_runtime_policy_find(rt, names[i], &why);

		if (!h) {
			if (err)
				*err = why;
			return why.code;
		}
		policies[i] = h->policy;
	}
	return 0;
}

int nb_change_stage_use(struct nb_runtime *rt, const char *const *names,
			uint32_t n, uint8_t digest[NB_SHA256_SIZE],
			struct nb_err *err)
{
	static const struct nb_reach all = { .what = NB_REACH_ALL };

	return nb_change_stage_for(rt, &all, names, n, digest, err);
}

int nb_change_stage_for(struct nb_runtime *rt, const struct nb_reach *reach,
			const char *const *names, uint32_t n,
			uint8_t digest[NB_SHA256_SIZE], struct nb_err *err)
{
	struct nb_policy *policies[NB_GEN_MAX_POLICIES];
	struct nb_gen *g = NULL;
	int rc;

	if (n > NB_GEN_MAX_POLICIES)
		return nb_fail(err, NB_E_LIMIT, 0,
			       "%u policies at once (allowed: %d)", n,
			       NB_GEN_MAX_POLICIES);
	nb_runtime_lock(rt);
	nb_runtime_sync(rt);
	rc = find_all(rt, names, n, policies, err);
	if (!rc)
		rc = nb_reach_check(rt, reach, err);
	if (!rc)
		rc = nb_reach_use(&g, rt, reach, policies, n, err);
	nb_runtime_unlock(rt);
	return rc ? rc : stage_new(rt, g, digest, err);
}

int nb_change_stage_common(struct nb_runtime *rt, const struct nb_reach *reach,
			   uint8_t digest[NB_SHA256_SIZE], struct nb_err *err)
{
	struct nb_gen *g = NULL;
	int rc;

	nb_runtime_lock(rt);
	nb_runtime_sync(rt);
	rc = nb_reach_check(rt, reach, err);
	if (!rc)
		rc = nb_reach_common(&g, rt, reach, err);
	nb_runtime_unlock(rt);
	return rc ? rc : stage_new(rt, g, digest, err);
}

int nb_change_stage_edit(struct nb_runtime *rt, const struct nb_edit *edit,
			 const struct nb_reach *reach,
			 uint8_t digest[NB_SHA256_SIZE], struct nb_err *err)
{
	struct nb_gen *g = NULL;
	int rc;

	nb_runtime_lock(rt);
	nb_runtime_sync(rt);
	rc = nb_reach_check(rt, reach, err);
	if (!rc)
		rc = nb_reach_edit(&g, rt, reach, edit, err);
	nb_runtime_unlock(rt);
	return rc ? rc : stage_new(rt, g, digest, err);
}

static int fail_not_kept(uint64_t to, struct nb_err *err)
{
	nb_fail(err, NB_E_NOENT, 0,
		"generation %llu is not kept in this process",
		(unsigned long long)to);
	return nb_hint(err, "policy history shows those that can be gone back "
			    "to");
}

int nb_change_stage_undo(struct nb_runtime *rt, uint64_t to,
			 uint8_t digest[NB_SHA256_SIZE], struct nb_err *err)
{
	struct nb_gen *g;

	nb_runtime_lock(rt);
	nb_runtime_sync(rt);
	g = to == NB_CHANGE_ANY ? rt->previous
				: nb_history_find(rt, (uint32_t)to);
	if (g)
		g = nb_gen_get(g);
	nb_runtime_unlock(rt);
	if (!g && to != NB_CHANGE_ANY)
		return fail_not_kept(to, err);
	if (!g)
		return nb_fail(err, NB_E_NOENT, 0,
			       "there is nothing to go back to: no change has "
			       "been committed since this process began");
	return stage_new(rt, g, digest, err);
}

int nb_change_stage_map(struct nb_runtime *rt, const char *map,
			const struct nb_map_op *ops, uint32_t nops,
			uint8_t digest[NB_SHA256_SIZE], struct nb_err *err)
{
	struct nb_map_ref ref;
	struct nb_gen *g = NULL;
	int rc;

	nb_runtime_lock(rt);
	rc = nb_runtime_map_find(rt, map, &ref, err);
	if (!rc && !ref.coherent)
		rc = nb_fail(err, NB_E_READONLY, 0,
			     "map %s is local: it changes at once, without a "
			     "generation",
			     ref.spec->name);
	else if (!rc && !ref.in_use)
		rc = nb_fail(err, NB_E_NOENT, 0,
			     "policy %s is not in use, so its coherent map %s "
			     "has no contents yet: policy use first",
			     ref.policy->img->name, ref.spec->name);
	if (!rc)
		rc = nb_gen_map_change(
			&g, rt->baseline,
			(uint32_t)nb_runtime_policy_position(rt, ref.policy),
			ref.map, ops, nops, err);
	nb_runtime_unlock(rt);
	return rc ? rc : stage_new(rt, g, digest, err);
}

int nb_change_abort(struct nb_runtime *rt, const uint8_t digest[NB_SHA256_SIZE],
		    struct nb_err *err)
{
	int rc = nb_segment_lock(rt->seg, LOCK_MS, err);

	if (rc)
		return rc;
	nb_runtime_lock(rt);
	nb_runtime_sync(rt);
	if (rt->staged && !memcmp(rt->staged->digest, digest, NB_SHA256_SIZE)) {
		rt->staged = NULL;
		rt->seg->mem->proc[rt->seg->proc].staged = 0;
		nb_runtime_sweep(rt);
	} else {
		rc = nb_fail(err, NB_E_NOENT, 0,
			     "no change of that digest is staged here");
	}
	nb_runtime_unlock(rt);
	nb_segment_unlock(rt->seg);
	return rc;
}

/* ---- commit: may it be? ---- */

static int check_staged_here(struct nb_runtime *rt,
			     const uint8_t digest[NB_SHA256_SIZE],
			     struct nb_err *err)
{
	bool fits;

	nb_runtime_lock(rt);
	nb_runtime_sync(rt);
	fits = rt->staged &&
	       !memcmp(rt->staged->digest, digest, NB_SHA256_SIZE);
	nb_runtime_unlock(rt);
	return fits ? 0
		    : nb_fail(err, NB_E_REFUSED, 0,
			      "no change of that digest is staged in this "
			      "process");
}

static int check_procs(const struct nb_seg *mem,
		       const uint8_t digest[NB_SHA256_SIZE], struct nb_err *err)
{
	for (int i = 0; i < NB_SEG_PROCS; i++) {
		const struct nb_seg_proc *p = &mem->proc[i];

		if (!p->pid ||
		    (p->staged && !memcmp(p->digest, digest, NB_SHA256_SIZE)))
			continue;
		if (!(p->flags & NB_SEG_PROC_CONTROL))
			return nb_fail(err, NB_E_REFUSED, 0,
				       "process %llu of the job has no control "
				       "socket and takes no changes",
				       (unsigned long long)p->pid);
		return nb_fail(err, NB_E_REFUSED, 0,
			       "process %llu of the job has not staged this "
			       "change",
			       (unsigned long long)p->pid);
	}
	return 0;
}

int nb_change_staged(struct nb_runtime *rt,
		     const uint8_t digest[NB_SHA256_SIZE], struct nb_err *err)
{
	int rc = nb_segment_lock(rt->seg, LOCK_MS, err);

	if (rc)
		return rc;
	nb_segment_reap(rt->seg);
	rc = check_procs(rt->seg->mem, digest, err);
	nb_segment_unlock(rt->seg);
	return rc;
}

/* The record of @c, for who does not arm it. */
static struct nb_record record_of(const struct nb_segment *s,
				  struct nb_seg_comm *c)
{
	return nb_record_here(s, c, false);
}

static bool in_use(const struct nb_seg_comm *c)
{
	return __atomic_load_n(&c->in_use, __ATOMIC_ACQUIRE);
}

static int fail_incomplete(const struct nb_seg_comm *c, uint32_t here,
			   struct nb_err *err)
{
	if (c->has_id)
		return nb_fail(err, NB_E_REFUSED, 0,
			       "%u of %u ranks of communicator %016llx are not "
			       "on this host, or their processes have no "
			       "ncclbpf",
			       c->nranks - here, c->nranks,
			       (unsigned long long)c->comm_id);
	return nb_fail(err, NB_E_REFUSED, 0,
		       "%u of %u ranks of a communicator without identity are "
		       "still to come, not on this host, or their processes "
		       "have no ncclbpf",
		       c->nranks - here, c->nranks);
}

/*
 * Communicators of one host that are not complete. Those of several begin with
 * NCCLBPF_POLICY whatever changes here; one that could be changed must not
 * move on this host alone.
 */
static int check_complete(const struct nb_segment *s, struct nb_err *err)
{
	for (int i = 0; i < NB_SEG_COMMS; i++) {
		const struct nb_seg_comm *c = &s->mem->comm[i];
		uint32_t here = in_use(c) ? nb_seg_registered(c) : 0;

		if (nb_begin_for_good(c) ||
		    nb_begin_apart(s, c) != NB_DIFFER_NOT)
			continue; /* it takes no policies */
		if (here && here < c->nranks && (c->has_id || c->nnodes < 2))
			return fail_incomplete(c, here, err);
	}
	return 0;
}

static int check_ready(const struct nb_segment *s, struct nb_err *err)
{
	for (int i = 0; i < NB_SEG_COMMS; i++) {
		struct nb_seg_comm *c = &s->mem->comm[i];
		const struct nb_record r = record_of(s, c);

		if (in_use(c) && !nb_fence_ready(&r))
			return nb_fail(err, NB_E_BUSY, 0,
				       "some ranks of communicator %016llx "
				       "have not reached the fence of the "
				       "change before; try again",
				       (unsigned long long)c->comm_id);
	}
	return 0;
}

static bool needs_membarrier(const struct nb_seg *mem)
{
	for (int i = 0; i < NB_SEG_PROCS; i++)
		if (mem->proc[i].pid &&
		    (mem->proc[i].flags & NB_SEG_PROC_MEMBARRIER))
			return true;
	return false;
}

static int check_barrier(const struct nb_segment *s, struct nb_err *err)
{
	if (!needs_membarrier(s->mem) || nb_segment_membarrier(s))
		return 0;
	return nb_fail(err, NB_E_REFUSED, 0,
		       "membarrier(2) is refused to this process, and other "
		       "processes of the job rely on it: commit from another "
		       "one");
}

/*
 * A fence is a decision number: it is one place for all ranks only while they
 * count alike. Ranks that differ are moved no more, but back to NCCL's own
 * choice (@empty) where only their answers differ.
 */
static int check_agreement(const struct nb_segment *s, bool empty,
			   struct nb_err *err)
{
	static struct nb_agree a; /* large; the segment's lock guards it */
	const struct nb_job job = nb_segment_job(s);
	char text[320];

	for (uint32_t i = 0; i < NB_SEG_COMMS; i++) {
		if (!in_use(&s->mem->comm[i]) || !nb_agree(&job, i, &a) ||
		    !nb_agree_broken(&a) || (empty && a.aligned))
			continue;
		nb_agree_text(&a, text, sizeof(text));
		nb_fail(err, NB_E_DISAGREE, 0, "communicator %016llx: %s",
			(unsigned long long)a.comm_id, text);
		return nb_hint(err, "%s",
			       a.aligned
				       ? "policy use none is possible; check "
					 "agreement shows all ranks"
				       : "no fence is safe where ranks do "
					 "not count alike: check agreement "
					 "shows all ranks, a new communicator "
					 "counts anew");
	}
	return 0;
}

/* The generation that the job has: the one committed last, or before the first
 * change what this process began with. */
static uint64_t generation(struct nb_runtime *rt)
{
	uint32_t n = nb_seg_baseline(
		__atomic_load_n(&rt->seg->mem->baseline, __ATOMIC_ACQUIRE));

	return n ? n : rt->baseline_number;
}

/* With the segment's lock it is the answer, without a forecast. */
static int check_expected(struct nb_runtime *rt, uint64_t expected,
			  struct nb_err *err)
{
	uint64_t found = generation(rt);

	if (expected == NB_CHANGE_ANY || expected == found)
		return 0;
	nb_fail(err, NB_E_STALE, 0,
		"the job has generation %llu (allowed: %llu, as "
		"if_generation says)",
		(unsigned long long)found, (unsigned long long)expected);
	return nb_hint(err, "somebody else has made a change: look again, and "
			    "name the generation that was looked at");
}

int nb_change_expect(struct nb_runtime *rt, uint64_t expected,
		     struct nb_err *err)
{
	int rc;

	nb_runtime_lock(rt);
	rc = check_expected(rt, expected, err);
	nb_runtime_unlock(rt);
	return rc;
}

static bool is_empty(const uint8_t digest[NB_SHA256_SIZE])
{
	static const uint8_t none[NB_SHA256_SIZE];

	return !memcmp(digest, none, NB_SHA256_SIZE);
}

/* With the segment's lock. @staged: every process must have said so. */
static int check_once(struct nb_segment *s,
		      const uint8_t digest[NB_SHA256_SIZE], bool staged,
		      struct nb_err *err)
{
	int rc = 0;

	NB_STEP(LOCKED);
	nb_segment_reap(s);
	NB_STEP(REAPED);
	for (int i = 0; i < NB_SEG_COMMS; i++) {
		const struct nb_record r = record_of(s, &s->mem->comm[i]);

		if (in_use(r.comm))
			nb_fence_recover(&r);
	}
	if (staged)
		rc = check_procs(s->mem, digest, err);
	if (!rc)
		rc = check_barrier(s, err);
	if (!rc)
		rc = check_complete(s, err);
	if (!rc)
		rc = check_agreement(s, is_empty(digest), err);
	if (!rc)
		rc = check_ready(s, err);
	return rc;
}

/*
 * Check until all is well or time is up; with the lock on success. What is
 * being made (ranks joining one after the other) or under way (ranks nearing
 * a fence) is given some time, without the lock.
 */
static int lock_when_ready(struct nb_runtime *rt,
			   const uint8_t digest[NB_SHA256_SIZE],
			   uint64_t expected, struct nb_err *err)
{
	struct nb_segment *s = rt->seg;
	uint64_t deadline = now_us() + JOIN_MS * 1000;

	for (;;) {
		int rc = nb_segment_lock(s, LOCK_MS, err);

		if (rc)
			return rc;
		rc = check_expected(rt, expected, err);
		if (!rc)
			rc = check_once(s, digest, true, err);
		if (!rc)
			return 0;
		nb_segment_unlock(s);
		if (now_us() >= deadline || rc == NB_E_DISAGREE ||
		    rc == NB_E_STALE || check_procs(s->mem, digest, NULL))
			return rc;
		sleep_ms(POLL_MS);
	}
}

/* ---- commit ---- */

static void commit_comm(const struct nb_record *record, uint32_t number,
			const struct nb_fence_opts *opts,
			struct nb_change_comm *out)
{
	struct nb_seg_comm *c = record->comm;
	struct nb_fence_result r = { 0, 0 };
	const char *why = "";

	out->state = NB_CHANGE_ABORTED;
	switch (nb_fence_commit(record, number, opts, &r)) {
	case NB_FENCE_COMMITTED:
		NB_STEP(COMMITTED);
		out->state = NB_CHANGE_COMMITTED;
		__atomic_store_n(&c->mismatch, 0, __ATOMIC_RELEASE);
		break;
	case NB_FENCE_OVERRUN:
		why = "ranks ran past every fence that was tried, the last "
		      "one NCCLBPF_FENCE_MARGIN decisions ahead";
		break;
	case NB_FENCE_PENDING:
		why = "some ranks have not reached the fence of the change "
		      "before";
		break;
	case NB_FENCE_EXHAUSTED:
		why = "its decision numbers are beyond 2^40";
		break;
	case NB_FENCE_NO_BARRIER:
		why = "membarrier(2) is refused to this process";
		break;
	}
	out->comm_id = c->comm_id;
	out->ranks = c->nranks;
	out->fence = r.fence;
	out->tries = r.tries;
	out->passed = nb_fence_passed(record, r.fence);
	snprintf(out->why, sizeof(out->why), "%s", why);
}

/* Ranks that differ in more than their policies are left to NCCL. */
static void leave_out(const struct nb_segment *s, const struct nb_seg_comm *c,
		      struct nb_change_comm *out)
{
	out->comm_id = c->comm_id;
	out->ranks = c->nranks;
	out->state = NB_CHANGE_UNCHANGEABLE;
	nb_begin_text(s, c, out->why, sizeof(out->why));
	if (!out->why[0])
		snprintf(out->why, sizeof(out->why),
			 "its ranks begin differently");
}

/* Communicators of this process that are not in the segment. */
static void list_unchangeable(struct nb_runtime *rt, struct nb_change *out)
{
	nb_runtime_lock(rt);
	for (const struct nb_comm *c = rt->comms;
	     c && out->ncomms < NB_CHANGE_COMMS; c = c->next) {
		struct nb_change_comm *to = &out->comm[out->ncomms];
		const char *why;

		if (c->seg || nb_comm_changeable(c, &why))
			continue;
		to->comm_id = c->init.comm_id;
		to->ranks = c->init.ranks;
		to->state = NB_CHANGE_UNCHANGEABLE;
		snprintf(to->why, sizeof(to->why), "%s", why);
		out->ncomms++;
	}
	nb_runtime_unlock(rt);
}

static void count(const struct nb_change *c, uint32_t *committed,
		  uint32_t *aborted)
{
	*committed = *aborted = 0;
	for (uint32_t i = 0; i < c->ncomms; i++) {
		*committed += c->comm[i].state == NB_CHANGE_COMMITTED;
		*aborted += c->comm[i].state == NB_CHANGE_ABORTED;
	}
}

/*
 * New communicators begin with it; nobody has it staged any more. False: a
 * rank that could not wait for this commit has begun with what was there
 * @before, and its peers must too.
 */
static bool set_baseline(struct nb_seg *mem, uint64_t before, uint32_t number)
{
	for (int i = 0; i < NB_SEG_PROCS; i++)
		mem->proc[i].staged = 0;
	return __atomic_compare_exchange_n(
		&mem->baseline, &before,
		(before & ~(uint64_t)UINT32_MAX) | number, false,
		__ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

/* The baseline as it is, which no rank holds fast. */
static int check_barred(const struct nb_segment *s, uint64_t *before,
			struct nb_err *err)
{
	*before = __atomic_load_n(&s->mem->baseline, __ATOMIC_SEQ_CST);
	if (!nb_begin_barred(s))
		return 0;
	return nb_fail(err, NB_E_REFUSED, 0,
		       "a rank of a communicator without identity could not "
		       "register in time: what its peers begin with must not "
		       "change while it lives");
}

static int fail_held_fast(uint32_t number, uint32_t committed,
			  struct nb_err *err)
{
	if (!committed)
		return nb_fail(err, NB_E_BUSY, 0,
			       "a rank of a communicator without identity "
			       "could not wait for the change; nothing has "
			       "moved");
	return nb_fail(err, NB_E_BUSY, 0,
		       "a rank of a communicator without identity could not "
		       "wait for the change: communicators that live have "
		       "moved to generation %u, those made from now on begin "
		       "as before",
		       number);
}

/* What the furthest rank decides in the time that deciding a fence takes, by
 * @n decisions in @us: nobody need wait at a fence beyond that. */
static uint32_t near_margin(uint64_t n, uint64_t us)
{
	uint64_t near = us ? n * DECIDE_US / us : 0;

	return near < UINT32_MAX ? (uint32_t)near : UINT32_MAX;
}

/*
 * The fences, one communicator after the other. What is left when the time is
 * up gets a single try each, without waiting for ranks to pass another fence.
 */
static void commit_comms(struct nb_runtime *rt, uint32_t number,
			 struct nb_change *out)
{
	const bool membarrier = needs_membarrier(rt->seg->mem);
	struct nb_seg_comm *comm = rt->seg->mem->comm;
	uint64_t begun[NB_SEG_COMMS], began = now_us(), deadline;
	struct nb_fence_opts opts = { .idle = false };

	for (int i = 0; i < NB_SEG_COMMS; i++) {
		const struct nb_record r = record_of(rt->seg, &comm[i]);

		begun[i] = nb_fence_announced(&r);
	}
	sleep_ms(REST_MS);
	deadline = now_us() + COMMIT_MS * UINT64_C(1000);
	for (int i = 0; i < NB_SEG_COMMS; i++) {
		const struct nb_record r =
			nb_record_here(rt->seg, &comm[i], membarrier);
		uint64_t now = now_us();
		uint64_t left = now < deadline ? (deadline - now) / 1000 : 0;
		uint64_t wait = (uint64_t)rt->params.num[NB_P_FENCE_TIMEOUT_MS];

		if (!in_use(&comm[i]) || !comm[i].has_id ||
		    out->ncomms == NB_CHANGE_COMMS)
			continue;
		/* incomplete: it was apart when it was checked */
		if (nb_begin_for_good(&comm[i]) ||
		    nb_begin_apart(rt->seg, &comm[i]) != NB_DIFFER_NOT ||
		    nb_seg_registered(&comm[i]) < comm[i].nranks) {
			leave_out(rt->seg, &comm[i], &out->comm[out->ncomms++]);
			continue;
		}
		opts.timeout_ms = (uint32_t)(wait < left ? wait : left);
		opts.once = !left;
		opts.margin = (uint32_t)rt->params.num[NB_P_FENCE_MARGIN];
		begun[i] = nb_fence_announced(&r) - begun[i];
		opts.idle = begun[i] == 0;
		opts.near = near_margin(begun[i], now - began);
		commit_comm(&r, number, &opts, &out->comm[out->ncomms++]);
	}
}

/* With the segment's lock, all checks passed. */
static int commit_all(struct nb_runtime *rt,
		      const uint8_t digest[NB_SHA256_SIZE],
		      struct nb_change *out, struct nb_err *err)
{
	uint32_t number, committed, aborted;
	uint64_t before;
	int rc = check_barred(rt->seg, &before, err);

	if (!rc)
		rc = nb_segment_gen(rt->seg, digest, true, &number, err);
	if (rc)
		return rc;
	NB_STEP(NUMBERED);
	nb_runtime_lock(rt);
	nb_runtime_publish(rt, number, nb_runtime_gen_find(rt, digest));
	nb_segment_sign(rt->seg, number, rt->by_uid, rt->by_pid);
	nb_runtime_unlock(rt);
	commit_comms(rt, number, out);
	count(out, &committed, &aborted);
	list_unchangeable(rt, out);
	if (aborted && !committed)
		return nb_fail(err, NB_E_BUSY, 0,
			       "communicator %016llx: %.120s; nothing has "
			       "moved",
			       (unsigned long long)out->comm[0].comm_id,
			       out->comm[0].why);
	if (!set_baseline(rt->seg->mem, before, number))
		return fail_held_fast(number, committed, err);
	NB_STEP(BASELINE);
	out->generation = number;
	out->state = NB_CHANGE_COMMITTED;
	return 0;
}

int nb_change_commit(struct nb_runtime *rt,
		     const uint8_t digest[NB_SHA256_SIZE], uint64_t expected,
		     struct nb_change *out, struct nb_err *err)
{
	uint64_t began = now_us();
	int rc;

	memset(out, 0, sizeof(*out));
	memcpy(out->digest, digest, NB_SHA256_SIZE);
	out->state = NB_CHANGE_ABORTED;
	rc = nb_change_expect(rt, expected, err);
	if (!rc)
		rc = check_staged_here(rt, digest, err);
	if (!rc)
		rc = lock_when_ready(rt, digest, expected, err);
	if (rc)
		return rc;
	rc = commit_all(rt, digest, out, err);
	out->time_us = now_us() - began;
	nb_runtime_lock(rt);
	rt->last = *out;
	rt->has_last = true;
	if (!rc)
		nb_runtime_sync(rt);
	nb_runtime_sweep(rt);
	nb_runtime_unlock(rt);
	nb_segment_unlock(rt->seg);
	return rc;
}

int nb_change_baseline(struct nb_runtime *rt, struct nb_change *out,
		       struct nb_err *err)
{
	uint64_t began = now_us();
	int rc = nb_segment_lock(rt->seg, LOCK_MS, err);

	if (rc)
		return rc;
	memset(out, 0, sizeof(*out));
	out->state = NB_CHANGE_ABORTED;
	rt->by_uid = rt->by_pid = 0; /* nobody asked */
	rc = check_once(rt->seg, out->digest, false, err);
	if (!rc)
		rc = commit_all(rt, out->digest, out, err);
	out->time_us = now_us() - began;
	if (!rc) {
		nb_runtime_lock(rt);
		rt->last = *out;
		rt->has_last = true;
		nb_runtime_sync(rt);
		nb_runtime_unlock(rt);
	}
	nb_segment_unlock(rt->seg);
	return rc;
}

/* ---- status ---- */

static struct nb_seg_comm *entry_of(const struct nb_runtime *rt,
				    uint64_t comm_id)
{
	for (int i = 0; i < NB_SEG_COMMS; i++) {
		struct nb_seg_comm *c = &rt->seg->mem->comm[i];

		if (in_use(c) && c->has_id && c->comm_id == comm_id)
			return c;
	}
	return NULL;
}

void nb_change_status(struct nb_runtime *rt, bool *has_staged,
		      uint8_t staged[NB_SHA256_SIZE], bool *has_last,
		      struct nb_change *out)
{
	nb_runtime_lock(rt);
	nb_runtime_sync(rt);
	*has_staged = rt->staged != NULL;
	if (rt->staged)
		memcpy(staged, rt->staged->digest, NB_SHA256_SIZE);
	*has_last = rt->has_last;
	*out = rt->last;
	for (uint32_t i = 0; rt->seg && i < out->ncomms; i++) {
		struct nb_change_comm *c = &out->comm[i];
		struct nb_seg_comm *e = c->state == NB_CHANGE_COMMITTED
						? entry_of(rt, c->comm_id)
						: NULL;

		if (e) {
			const struct nb_record r = record_of(rt->seg, e);

			c->passed = nb_fence_passed(&r, c->fence);
		}
	}
	nb_runtime_unlock(rt);
}
