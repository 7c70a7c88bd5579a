// SPDX-License-Identifier: MIT
/*
 * The divergence watch: each process compares the decisions of the ranks on
 * this host. If the ranks agree, a check reads only a few words for each. A
 * finding stays in the segment after the rings have overwritten its decisions.
 */
#include "plugin/change/divergence.h"

#include <stdlib.h>

#include "core/job/segment/agree.h"
#include "core/job/segment/report.h"
#include "plugin/change/change.h"
#include "plugin/job/segment.h"
#include "plugin/job/self.h"
#include "plugin/runtime/clock.h"
#include "plugin/runtime/log.h"
#include "plugin/runtime/params.h"

/* State of the watch for each communicator. Only the control thread uses it. */
static struct {
	uint64_t next_ns; /* time of the next check (CLOCK_MONOTONIC) */
	struct watched {
		uint64_t comm_id;
		/* sum of the ranks' decision numbers at the last check */
		uint64_t sum;
		bool told;
		/* the next check must return all ranks to NCCL's own choice */
		bool reset;
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
static void reset_to_baseline(struct watched *w)
{
	struct nb_change *out = calloc(1, sizeof(*out));
	struct nb_err err;
	int rc = out ? nb_change_baseline(out, &err) : NB_E_BUSY;

	w->reset = rc == NB_E_BUSY || rc == NB_E_DISAGREE;
	if (!rc && out->state == NB_CHANGE_UNCHANGEABLE)
		nb_log(NB_LOG_WARN, "NCCLBPF_ON_DIVERGENCE=baseline: no communicator changes: %s",
		       out->ncomms ? out->comm[0].why : out->why);
	else if (!rc)
		nb_log(NB_LOG_WARN,
		       "NCCLBPF_ON_DIVERGENCE=baseline: "
		       "NCCL decides by itself in all communicators from generation %llu on",
		       (unsigned long long)out->shown);
	else if (rc != NB_E_BUSY && !w->failed) {
		nb_log_err("NCCLBPF_ON_DIVERGENCE=baseline failed", &err);
		w->failed = true;
	}
	free(out);
}

static void watch_comm(uint32_t index, struct nb_agree *a)
{
	struct nb_seg_comm *c = &nb_self.seg->mem->comm[index];
	struct watched *w = &watch.comm[index];
	const struct nb_job job = nb_segment_job(nb_self.seg);
	uint64_t none = 0;

	if (!__atomic_load_n(&c->in_use, __ATOMIC_ACQUIRE) || !has_decided(w, c) ||
	    !nb_agree(&job, index, a) || !nb_agree_broken(a))
		return;
	log_divergence(w, a);
	/* the process that finds the divergence first acts on it */
	if (__atomic_compare_exchange_n(&c->diverged, &none, a->seq + 1, false, __ATOMIC_SEQ_CST,
					__ATOMIC_SEQ_CST))
		w->reset = nb_params.num[NB_P_ON_DIVERGENCE];
	if (w->reset)
		reset_to_baseline(w);
}

void nb_divergence_tick(void)
{
	uint64_t now = nb_clock_system();
	struct nb_agree *a;

	if (!nb_self.seg || !nb_self.seg->shared || now < watch.next_ns)
		return;
	watch.next_ns = now + 1000000000;
	a = malloc(sizeof(*a));
	for (uint32_t i = 0; a && i < NB_SEG_COMMS; i++)
		watch_comm(i, a);
	free(a);
}
