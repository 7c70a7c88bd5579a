// SPDX-License-Identifier: MIT
/*
 * The communicators of this process. Other threads read them through these
 * functions while the communicator's thread decides.
 */
#include "plugin/comm/comm.h"

#include <stdio.h>
#include <stdlib.h>

#include "plugin/job/self.h"
#include "plugin/runtime/log.h"
#include "plugin/runtime/params.h"

struct nb_comms nb_comms;

static const struct {
	const char *word, *text;
} reasons[NB_NREFUSED] = {
#define REFUSED(name, word, text) [NB_REFUSED_##name] = { word, text },
#include "core/defs/refusals.h"
};

const char *nb_refused_word(enum nb_refused why)
{
	return why < NB_NREFUSED ? reasons[why].word : NULL;
}

const char *nb_refused_text(enum nb_refused why)
{
	return why < NB_NREFUSED ? reasons[why].text : NULL;
}

uint64_t nb_comm_decisions(const struct nb_comm *c)
{
	return __atomic_load_n(&c->fence.seq, __ATOMIC_RELAXED);
}

struct nb_seg_slot *nb_comm_slot(const struct nb_comm *c)
{
	return c && c->seg ? c->fence.slot : NULL;
}

const struct nb_packed *nb_comm_ring(const struct nb_comm *c)
{
	return c && c->seg && c->ring != c->own_ring ? c->ring : NULL;
}

uint64_t nb_comm_refused(const struct nb_comm *c, enum nb_refused why)
{
	return __atomic_load_n(&c->refused[why], __ATOMIC_RELAXED);
}

const struct nb_gen *nb_comm_gen(const struct nb_comm *c, uint32_t *number)
{
	/* a rank sets its number last, so the generation is not older */
	*number = __atomic_load_n(&c->fence.number, __ATOMIC_ACQUIRE);
	return __atomic_load_n(&c->gen, __ATOMIC_ACQUIRE);
}

uint32_t nb_comm_local_ranks(const struct nb_comm *c)
{
	uint32_t n = 0;

	if (c->seg)
		return nb_seg_registered(c->seg);
	for (const struct nb_comm *i = nb_comms.first; i; i = i->next)
		n += i->init.has_id && c->init.has_id && i->init.comm_id == c->init.comm_id;
	return n ? n : 1;
}

bool nb_comm_changeable(const struct nb_comm *c, char why[NB_STARTUP_WHY])
{
	const char *text = c->why;

	if (!c->seg && !c->why[0])
		text = "the communicator was created before this process forked";
	else if (c->seg && (c->fence.follows || c->seg->fleet))
		text = nb_startup_for_good(c->seg)
			       ? "ranks of the communicator started differently; see doctor"
			       : c->seg->fleet_why;
	else if (c->seg)
		return !nb_startup_fixed(nb_self.seg, c->seg, why);
	snprintf(why, NB_STARTUP_WHY, "%s", text);
	return !*why;
}

bool nb_comm_decision(const struct nb_comm *c, uint64_t seq, struct nb_decision *out)
{
	return seq < nb_comm_decisions(c) &&
	       nb_unpack(&c->ring[seq % NB_RING], &nb_seg_chunks(c->ring)[seq % NB_RING], seq, out);
}

bool nb_comm_latest(const struct nb_comm *c, int coll, uint32_t bucket, struct nb_decision *out)
{
	const struct nb_latest *l;

	if (coll < 0 || coll >= NCCL_NUM_COLLS || bucket >= NB_SIZE_BUCKETS)
		return false;
	l = &c->latest[(uint32_t)coll * NB_SIZE_BUCKETS + bucket];
	/* a writer finishes within nanoseconds, so a few tries are enough */
	for (int i = 0; i < 100; i++) {
		uint64_t n = __atomic_load_n(&l->count, __ATOMIC_ACQUIRE);

		if (!n)
			return false;
		if (nb_unpack(&l->decision, &l->chunk, __atomic_load_n(&l->seq, __ATOMIC_ACQUIRE),
			      out)) {
			out->count = n;
			return true;
		}
	}
	return false;
}

/* Count decision @d, which is older than those counted so far. */
static void add_offer(struct nb_offer out[NB_OFFERS], uint32_t *n, const struct nb_decision *d)
{
	uint32_t i = 0;

	while (i < *n && out[i].usable != d->usable)
		i++;
	if (i == NB_OFFERS)
		return;
	if (i == *n)
		out[(*n)++] = (struct nb_offer){ d->usable, 0, *d };
	out[i].decisions++;
}

static int by_size(const void *a, const void *b)
{
	uint32_t x = ((const struct nb_offer *)a)->usable, y = ((const struct nb_offer *)b)->usable;
	int more = __builtin_popcount(y) - __builtin_popcount(x);

	return more ? more : (x > y) - (x < y);
}

uint32_t nb_comm_offers(const struct nb_comm *c, int coll, uint32_t bucket,
			struct nb_offer out[NB_OFFERS])
{
	uint64_t end = nb_comm_decisions(c), from = end > NB_RING ? end - NB_RING : 0;
	struct nb_decision d;
	uint32_t n = 0;

	for (uint64_t k = end; k > from; k--)
		if (nb_comm_decision(c, k - 1, &d) && d.coll == coll && d.usable &&
		    nb_comm_bucket(d.bytes) == bucket)
			add_offer(out, &n, &d);
	qsort(out, n, sizeof(*out), by_size);
	return n;
}

static void tell_lost(struct nb_comm *c)
{
	if (!c->told)
		nb_log(NB_LOG_WARN,
		       "communicator %016llx: "
		       "this rank could not register in the job segment (%s), "
		       "so NCCL decides for all of its ranks",
		       (unsigned long long)c->init.comm_id, c->why);
	c->told = true;
}

bool nb_comm_differs(const struct nb_comm *c)
{
	return __atomic_load_n(&c->mismatch, __ATOMIC_RELAXED) ||
	       (c->seg && c->init.has_id == NB_ID_PROFILER &&
		__atomic_load_n(&c->seg->mismatch, __ATOMIC_ACQUIRE));
}

const char *nb_comm_differs_so(const struct nb_comm *c)
{
	return c->init.has_id == NB_ID_PROFILER ? "each keeps its own, and they may choose apart"
						: "it uses none of the policies and NCCL decides";
}

void nb_comm_tell_mismatch(struct nb_comm *c)
{
	bool good = c->seg && nb_startup_for_good(c->seg);
	char text[400];

	if (c->lost)
		tell_lost(c);
	if (c->told || !c->seg || !__atomic_load_n(&c->seg->mismatch, __ATOMIC_ACQUIRE))
		return;
	c->told = true;
	nb_startup_text(nb_self.seg, c->seg, text, sizeof(text));
	nb_log(NB_LOG_WARN,
	       "communicator %016llx: its ranks started with different %s (%s), "
	       "so %s; %s",
	       (unsigned long long)c->init.comm_id, good ? "settings" : "policies", text,
	       nb_comm_differs_so(c), nb_startup_remedy(c->seg));
}

void nb_comm_tell_uncounted(struct nb_comm *c)
{
	bool spans = c->init.nodes != 1 && !nb_params_fleet();

	if (c->told_uncounted || !__atomic_load_n(&c->uncounted, __ATOMIC_RELAXED))
		return;
	c->told_uncounted = true;
	nb_log(NB_LOG_WARN,
	       "communicator %016llx: its policies have replicated maps, but %s, so NCCL decides; "
	       "set %s",
	       (unsigned long long)c->init.comm_id,
	       spans ? "it spans nodes and belongs to no fleet"
		     : "not all of its ranks count API calls",
	       spans ? "NCCLBPF_FLEET in all processes"
		     : "NCCL_PROFILER_PLUGIN=ncclbpf in all processes, for NCCL 2.28 also "
		       "NCCLBPF_API_CLOCK=on");
}

enum { FLEET_TICKS = 3 };

void nb_comm_tell_fleet(struct nb_comm *c)
{
	if (c->told_fleet || !c->seg || !c->fence.follows)
		return;
	c->fleet_ticks = c->seg->fleet_why[0] ? c->fleet_ticks + 1 : 0;
	if (c->fleet_ticks < FLEET_TICKS)
		return;
	c->told_fleet = true;
	nb_log(NB_LOG_WARN, "communicator %016llx: %.159s; NCCL decides for it on this site",
	       (unsigned long long)c->init.comm_id, c->seg->fleet_why);
}

bool nb_comm_uncompared(const struct nb_comm *c)
{
	return c->init.nodes > 1 && !nb_params_fleet() && c->gen && c->gen->npolicies;
}

uint64_t nb_comms_decisions(void)
{
	uint64_t n = nb_comms.old_decisions;

	for (const struct nb_comm *c = nb_comms.first; c; c = c->next)
		n += nb_comm_decisions(c);
	return n;
}

uint64_t nb_comms_refused(enum nb_refused why)
{
	uint64_t n = nb_comms.old_refused[why];

	for (const struct nb_comm *c = nb_comms.first; c; c = c->next)
		n += nb_comm_refused(c, why);
	if (why == NB_REFUSED_NO_CONTEXT)
		n += __atomic_load_n(&nb_comms.lost, __ATOMIC_RELAXED);
	return n;
}

void nb_comms_time(bool on)
{
	nb_comms.timed = on;
	for (struct nb_comm *c = nb_comms.first; c; c = c->next)
		__atomic_store_n(&c->timed, on, __ATOMIC_RELAXED);
}

void nb_comms_forked(void)
{
	for (struct nb_comm *c = nb_comms.first; c; c = c->next) {
		c->fence.slot = &c->own_slot;
		c->fence.odd &= ~(uint32_t)NB_FENCE_CALLS;
		c->fence.record = &c->own_record;
		c->ring = c->own_ring;
		c->fence.seen = 0;
		/* the thread that searched does not exist in the child */
		c->searching = 0;
		c->ahead.gen = NULL;
		c->seg = NULL;
	}
}
