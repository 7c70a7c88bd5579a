// SPDX-License-Identifier: MIT
// The watch: each process of a job compares what the ranks on this host have
// decided. While they keep step that is a look at a few words a rank. What is
// found stays in the segment, also when the rings have gone on.
#include "plugin/watch.h"

#include <stdlib.h>
#include <time.h>

#include "core/job/agree.h"
#include "plugin/runtime.h"
#include "plugin/segment.h"

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* Has anything been decided since the last look? */
static bool moved(struct nb_watched *w, const struct nb_seg_comm *c)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < NB_SEG_SLOTS; i++)
		sum += __atomic_load_n(&c->slot[i].announced, __ATOMIC_RELAXED);
	if (w->comm_id == c->comm_id && w->sum == sum)
		return false;
	if (w->comm_id != c->comm_id || sum < w->sum)
		*w = (struct nb_watched){ .comm_id = c->comm_id };
	w->sum = sum;
	return true;
}

static void tell(struct nb_runtime *rt, struct nb_watched *w,
		 const struct nb_agree *a)
{
	char text[320];

	if (w->told)
		return;
	w->told = true;
	nb_agree_text(a, text, sizeof(text));
	nb_log(rt, NB_LOG_WARN,
	       "communicator %016llx: RANKS DISAGREE: %s; ncclbpf-shell check "
	       "agreement tells more",
	       (unsigned long long)a->comm_id, text);
}

/*
 * All ranks back to NCCL's own choice, at one decision. Where ranks near
 * another fence it is tried again at the next look.
 */
static void reset(struct nb_runtime *rt, struct nb_watched *w)
{
	struct nb_change *out = calloc(1, sizeof(*out));
	struct nb_err err;
	int rc = out ? nb_change_baseline(rt, out, &err) : NB_E_BUSY;

	w->reset = rc == NB_E_BUSY;
	if (!rc)
		nb_log(rt, NB_LOG_WARN,
		       "NCCLBPF_ON_DIVERGENCE=baseline: NCCL decides by itself "
		       "in all communicators from generation %llu on",
		       (unsigned long long)out->generation);
	else if (!w->reset)
		nb_log_err(rt, "NCCLBPF_ON_DIVERGENCE=baseline cannot be done",
			   &err);
	free(out);
}

static void look(struct nb_runtime *rt, uint32_t index, struct nb_agree *a)
{
	struct nb_seg_comm *c = &rt->seg->mem->comm[index];
	struct nb_watched *w = &rt->watch.comm[index];
	const struct nb_job job = nb_segment_job(rt->seg);
	uint64_t none = 0;

	if (!__atomic_load_n(&c->in_use, __ATOMIC_ACQUIRE) || !moved(w, c) ||
	    !nb_agree(&job, index, a) || !nb_agree_broken(a))
		return;
	tell(rt, w, a);
	/* whoever sees it first acts */
	if (__atomic_compare_exchange_n(&c->diverged, &none, a->seq + 1, false,
					__ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
		w->reset = rt->params.num[NB_P_ON_DIVERGENCE];
	if (w->reset)
		reset(rt, w);
}

void nb_watch_turn(struct nb_runtime *rt)
{
	uint64_t now = now_ns();
	struct nb_agree *a;

	if (!rt->seg || !rt->seg->shared || now < rt->watch.next_ns)
		return;
	rt->watch.next_ns = now + 1000000000;
	a = malloc(sizeof(*a));
	for (uint32_t i = 0; a && i < NB_SEG_COMMS; i++)
		look(rt, i, a);
	free(a);
}
