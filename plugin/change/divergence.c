// SPDX-License-Identifier: MIT
/*
 * The divergence watch: one process of each communicator compares the decisions
 * of the ranks on this host. If the ranks agree, a check reads the hash of each and
 * what both rings say NCCL offered. A finding stays in the segment after the rings
 * have overwritten its decisions.
 */
#include "plugin/change/divergence.h"

#include <stdlib.h>

#include "core/job/segment/agree.h"
#include "core/job/segment/report.h"
#include "plugin/change/change.h"
#include "plugin/job/segment.h"
#include "plugin/job/self.h"
#include "plugin/runtime/clock.h"
#include "plugin/runtime/lock.h"
#include "plugin/runtime/log.h"
#include "plugin/runtime/params.h"

/* State of the watch for each communicator. Only the control thread uses it. */
enum { OTHERS_TICKS = 32 };
static struct {
	uint64_t next_ns; /* time of the next check (CLOCK_MONOTONIC) */
	uint64_t ticks;	  /* checks until now */
	struct watched {
		uint64_t comm_id;
		/* sum of the ranks' decision numbers at the last check */
		uint64_t sum;
		bool told;
		bool failed; /* an attempt to do so failed, and the log says why
			      */
	} comm[NB_SEG_COMMS];
} watch;

/* Returns true if a rank has decided since the last check. */
static bool has_decided(struct watched *w, const struct nb_seg_comm *c)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < NB_SEG_SLOTS; i++)
		sum += __atomic_load_n(&c->slot[i].announced, __ATOMIC_RELAXED);
	if (w->comm_id == c->comm_id && w->sum == sum)
		return false;
	if (w->comm_id != c->comm_id || sum < w->sum)
		*w = (struct watched){ .comm_id = c->comm_id };
	w->sum = sum;
	return true;
}

static void log_divergence(struct watched *w, const struct nb_agree *a)
{
	char text[320];

	if (w->told)
		return;
	w->told = true;
	nb_agree_text(a, text, sizeof(text));
	nb_log(NB_LOG_WARN,
	       "communicator %016llx: RANKS DISAGREE: %s; ncclbpf-shell check agreement shows more",
	       (unsigned long long)a->comm_id, text);
}

/*
 * Make all ranks return to NCCL's own choice at the same decision. If another
 * fence is pending, the next check tries again; also if the ranks seem to count
 * differently, because a few decisions of ranks that are far apart cannot tell
 * an extra decision from another answer.
 */
static void reset_to_baseline(struct watched *w, struct nb_seg_comm *c)
{
	struct nb_change *out = calloc(1, sizeof(*out));
	struct nb_err err;
	int rc = out ? nb_change_baseline(out, &err) : NB_E_BUSY;

	if (rc != NB_E_BUSY && rc != NB_E_DISAGREE)
		__atomic_store_n(&c->resets, 0, __ATOMIC_SEQ_CST);
	if (!rc && out->state == NB_CHANGE_UNCHANGEABLE)
		nb_log(NB_LOG_WARN, "NCCLBPF_ON_DIVERGENCE=baseline: no communicator changes: %s",
		       out->ncomms ? out->comm[0].why : out->why);
	else if (!rc)
		nb_log(NB_LOG_WARN,
		       "NCCLBPF_ON_DIVERGENCE=baseline: NCCL decides by itself from generation "
		       "%llu on in all communicators that can change",
		       (unsigned long long)out->shown);
	else if (rc != NB_E_BUSY && !w->failed) {
		nb_log_err("NCCLBPF_ON_DIVERGENCE=baseline failed", &err);
		w->failed = true;
	}
	free(out);
}

static bool swap32(uint32_t *p, uint32_t from, uint32_t to)
{
	return __atomic_compare_exchange_n(p, &from, to, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

/* Returns true if this process has to act, also in place of one that has ended. */
static bool resets_here(struct nb_seg_comm *c)
{
	uint32_t by = __atomic_load_n(&c->resets, __ATOMIC_SEQ_CST), self = nb_self.seg->proc + 1;

	if (!by || by == self)
		return by != 0;
	return (by > NB_SEG_PROCS || !nb_segment_entry_alive(nb_self.seg, by - 1, NB_QUICK)) &&
	       swap32(&c->resets, by, self);
}

/*
 * Returns true if this process compares the ranks of @c now. The others compare them if they
 * differ, because each logs it, and else seldom, in case that the first one is stopped.
 */
static bool compares_here(const struct watched *w, const struct nb_seg_comm *c)
{
	bool open = !w->told || __atomic_load_n(&c->resets, __ATOMIC_RELAXED);

	return (open && nb_divergence_diverged(c)) || nb_segment_leads(nb_self.seg, c) ||
	       (watch.ticks + nb_self.seg->proc) % OTHERS_TICKS == 0;
}

/*
 * Returns true if the ranks of a communicator differ. While the lock is held, no rank of this
 * process gives the entry to another communicator. A rank of another process may; then the
 * identity has changed, and what was read is dropped.
 */
static bool finds_broken(struct watched *w, uint32_t index, struct nb_agree *a)
{
	const struct nb_seg_comm *c = &nb_self.seg->mem->comm[index];
	const struct nb_job job = nb_segment_job(nb_self.seg);
	bool broken;

	nb_lock(NB_LOCK_STATE);
	broken = nb_job_comm(&job, index) && compares_here(w, c) && has_decided(w, c) &&
		 nb_agree(&job, index, a) && nb_agree_broken(a) && nb_job_comm(&job, index) &&
		 c->comm_id == a->comm_id;
	nb_unlock(NB_LOCK_STATE);
	return broken;
}

static void watch_comm(uint32_t index, struct nb_agree *a)
{
	struct nb_seg_comm *c = &nb_self.seg->mem->comm[index];
	struct watched *w = &watch.comm[index];
	bool resets = nb_params.num[NB_P_ON_DIVERGENCE] != 0, mine, acts, marks;
	uint64_t none = 0;

	if (!finds_broken(w, index, a))
		return;
	log_divergence(w, a);
	/*
	 * One of the processes that find the divergence acts on it, once. Only that one marks it,
	 * before it acts, so a process that finds the mark with the reset in hand is too late.
	 */
	mine = resets && !nb_divergence_diverged(c) && swap32(&c->resets, 0, nb_self.seg->proc + 1);
	acts = resets_here(c);
	marks = (acts || !resets) &&
		__atomic_compare_exchange_n(&c->diverged, &none, a->seq + 1, false,
					    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
	if (mine && !marks)
		swap32(&c->resets, nb_self.seg->proc + 1, 0);
	else if (acts)
		reset_to_baseline(w, c);
}

void nb_divergence_tick(void)
{
	uint64_t now = nb_clock_system();
	struct nb_agree *a;

	if (!nb_self.seg || !nb_self.seg->shared || now < watch.next_ns)
		return;
	watch.next_ns = now + 1000000000;
	watch.ticks++;
	a = malloc(sizeof(*a));
	for (uint32_t i = 0, n = nb_seg_ncomms(nb_self.seg->mem); a && i < n; i++)
		watch_comm(i, a);
	free(a);
}
