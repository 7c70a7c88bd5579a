// SPDX-License-Identifier: MIT
/*
 * Creates and ends a rank's context, which is added to the list of
 * communicators and to the job segment. Without a segment a communicator also
 * decides, but its slot and record are private, and no change reaches it.
 */
#include "plugin/tuner/register.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "plugin/change/sync.h"
#include "plugin/comm/comm.h"
#include "plugin/env/override.h"
#include "plugin/job/gen_numbers.h"
#include "plugin/job/registry.h"
#include "plugin/job/self.h"
#include "plugin/job/startup.h"
#include "plugin/policies/generations.h"
#include "plugin/profiler/events.h"
#include "plugin/runtime/lock.h"
#include "plugin/runtime/log.h"
#include "plugin/runtime/params.h"
#include "plugin/wrap/wrapped.h"

enum {
	/*
	 * limit for taking the lock when a rank ends, where a time-out does no
	 * harm
	 */
	LOCK_MS = 5000,
	HEAD = (sizeof(struct nb_comm) + 63) / 64 * 64,
	/*
	 * the extra entry is for decisions without a size bucket and is never
	 * read
	 */
	NLATEST = NB_LATEST_NONE + 1,
	BLOCK = HEAD + NB_SEG_RING_SIZE + NLATEST * sizeof(struct nb_latest) +
		NB_SEEN * sizeof(struct nb_seen)
};

/* Allocate zeroed pages, which cost no memory until they are touched. */
static struct nb_comm *comm_alloc(void)
{
	char *p = mmap(NULL, BLOCK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct nb_comm *c;

	if (p == MAP_FAILED)
		return NULL;
	c = (struct nb_comm *)(void *)p;
	c->ring = c->own_ring = (struct nb_packed *)(void *)(p + HEAD);
	c->latest = (struct nb_latest *)(void *)(p + HEAD + NB_SEG_RING_SIZE);
	c->seen = (struct nb_seen *)(void *)(c->latest + NLATEST);
	return c;
}

static void fill_base(struct nb_comm *c)
{
	c->base = (struct ncclbpf_tuner){
		.comm_id = c->init.comm_id,
		.ranks = c->init.ranks,
		.nodes = c->init.nodes,
		.nvl_domains = c->init.nvl_domains,
		.nvl_min_ranks = c->init.nvl_min_ranks,
		.nvl_max_ranks = c->init.nvl_max_ranks,
		.nccl_algo = NCCL_ALGO_UNDEF,
		.nccl_proto = NCCL_PROTO_UNDEF,
		.algo = NCCL_ALGO_UNDEF,
		.proto = NCCL_PROTO_UNDEF,
	};
	c->ctx = c->base;
}

/*
 * Returns true if the fleet decides with which generation a communicator of
 * several hosts starts.
 */
static bool in_fleet(const struct nb_comm *c)
{
	return nb_params_fleet() && c->init.nodes > 1;
}

/*
 * Returns the initial generation of a new rank. Without a fleet, a change
 * reaches only one host, so communicators of several hosts always start with
 * NCCLBPF_POLICY. In a fleet they start with NCCL's own choice, which needs no
 * agreement (docs/fleet.md).
 */
static struct nb_gen *initial_gen(const struct nb_comm *c)
{
	struct nb_gen *g = c->init.nodes > 1 ? nb_gens.first : nb_gens.baseline;

	return in_fleet(c) ? nb_gens.empty : nb_gen_of(g, c->init.comm_id);
}

/* Get the initial generation's number in the segment. */
static int initial_number(const struct nb_comm *c, uint32_t *number, struct nb_err *err)
{
	uint8_t digest[NB_SHA256_SIZE];

	*number = nb_gens.baseline_number;
	if (nb_segment_digest(nb_self.seg, *number, digest) &&
	    !memcmp(digest, c->gen->digest, sizeof(digest)))
		return 0;
	return nb_segment_gen(nb_self.seg, c->gen->digest, false, number, err);
}

/*
 * Register the rank in the segment. The caller holds the segment's lock and
 * NB_LOCK_STATE. An entry without identity only counts ranks: a change waits
 * until new communicators are complete, because their ranks would otherwise
 * start with different generations.
 */
static void join_segment(struct nb_comm *c)
{
	struct nb_seg_proc *self;
	struct nb_seg_comm *entry;
	struct nb_packed *ring;
	struct nb_err err;
	uint32_t number, slot;

	if (!nb_self_enter()) {
		snprintf(c->why, sizeof(c->why), "the process ends");
		return;
	}
	self = &nb_self.seg->mem->proc[nb_self.seg->proc];
	self->setting[NB_SETTING_ABI] = c->init.abi;
	self->setting[NB_SETTING_CHAIN_TUNER] =
		c->chained ? nb_wrapped[NB_WRAPPED_TUNER].file.digest : 0;
	if (initial_number(c, &number, &err) ||
	    nb_segment_join(nb_self.seg, c->init.has_id, c->init.comm_id, c->init.ranks,
			    c->init.nodes, number, &entry, &slot, &err)) {
		snprintf(c->why, sizeof(c->why), "%.150s", err.text);
		return;
	}
	number = entry->slot[slot].generation;
	nb_gens_publish(number, c->gen);
	c->fence.number = number;
	c->entry = entry;
	c->entry_slot = slot;
	if (!c->init.has_id)
		return;
	ring = nb_segment_ring(nb_self.seg, entry, slot);
	if (ring)
		c->ring = ring;
	if (in_fleet(c)) {
		uint32_t not = NB_FLEET_NOT;

		__atomic_compare_exchange_n(&entry->fleet, &not, NB_FLEET_NEW, false,
					    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
		c->fence.follows = true;
	}
	if (c->init.asks_some)
		__atomic_store_n(&entry->asks_some, 1, __ATOMIC_RELEASE);
	if (c->init.calls)
		__atomic_store_n(&entry->slot[slot].calls, 1, __ATOMIC_RELEASE);
	c->seg = entry;
	c->slot_index = slot;
	c->fence.slot = &entry->slot[slot];
	c->fence.record = &entry->record;
}

/*
 * Prevent changes of the job's start-up generation. The plugin cannot find the
 * peers of a communicator without identity, so it cannot let NCCL decide for
 * all of them. Therefore they must all start with the same generation.
 */
static void hold_baseline(struct nb_comm *c)
{
	if (!c->bars)
		nb_startup_bar(nb_self.seg);
	c->bars = true;
}

/*
 * Mark a rank that could not register. It may have started with another
 * generation than its peers, so NCCL decides for all of them. A single rank has
 * no peers, and communicators of several hosts always start with
 * NCCLBPF_POLICY.
 */
static void mark_lost(struct nb_comm *c)
{
	if (c->init.ranks < 2 || c->init.nodes > 1)
		return;
	if (!c->init.has_id) {
		hold_baseline(c);
		return;
	}
	nb_startup_lose(nb_self.seg, c->init.comm_id);
	c->lost = true;
	c->mismatch = true;
}

/*
 * Compare the ranks of this process. If the wrapped tuner failed for one rank
 * and not for another, NCCL decides for the whole communicator. Ranks of
 * different processes compare this as a setting when they register.
 */
static void compare_peers(struct nb_comm *c)
{
	for (struct nb_comm *o = nb_comms.first; o; o = o->next) {
		if (o->chained == c->chained || !o->init.has_id || !c->init.has_id ||
		    o->init.comm_id != c->init.comm_id)
			continue;
		if (c->seg && c->seg == o->seg)
			nb_startup_differ(c->seg, NB_SETTING_CHAIN_TUNER, o->slot_index,
					  c->slot_index);
		__atomic_store_n(&o->mismatch, true, __ATOMIC_RELAXED);
		c->mismatch = true;
	}
}

static void add_to_list(struct nb_comm *c)
{

	nb_change_sync();
	c->gen = initial_gen(c);
	c->fence.number = nb_gens.baseline_number;
	c->slot_index = nb_comms.n;
	if (!c->why[0])
		join_segment(c);
	if (!c->entry)
		mark_lost(c);
	compare_peers(c);
	if (!c->init.has_id)
		snprintf(c->why, sizeof(c->why),
			 "tuner interface v%u gives communicators no identity (allowed: "
			 "v5 and later)",
			 c->init.abi);
	c->timed = nb_comms.timed;
	c->next = nb_comms.first;
	nb_comms.first = c;
	nb_comms.n++;
}

/*
 * Continue without the segment's lock, because its holder is stuck, perhaps in
 * a commit. Call this before the start-up generation is read.
 */
static void go_without_lock(struct nb_comm *c, const struct nb_err *err)
{
	snprintf(c->why, sizeof(c->why), "%.150s", err->text);
	if (!c->init.has_id)
		mark_lost(c);
}

/*
 * Log the new communicator. The caller holds NB_LOCK_STATE, because the
 * communicator is in the list.
 */
static void log_comm(struct nb_comm *c)
{
	static bool told;

	nb_comm_tell_mismatch(c);
	if (nb_comm_uncompared(c) && !told) {
		told = true;
		nb_log(NB_LOG_INFO,
		       "communicator %016llx has ranks on %u hosts: nobody compares their "
		       "policies; give NCCLBPF_POLICY the same value on all of them, or set "
		       "NCCLBPF_FLEET",
		       (unsigned long long)c->init.comm_id, c->init.nodes);
	}
	nb_log(NB_LOG_DEBUG,
	       "communicator %016llx: %u ranks, %u nodes, tuner v%u, generation %u%s%s",
	       (unsigned long long)c->init.comm_id, c->init.ranks, c->init.nodes, c->init.abi,
	       c->fence.number, c->why[0] ? "; not changed while it lives: " : "", c->why);
}

struct nb_comm *nb_comm_new(const struct nb_comm_init *init)
{
	struct nb_comm *c = comm_alloc();
	struct nb_err err;
	bool locked;

	if (!c) {
		nb_log(NB_LOG_WARN, "no memory for a communicator (%d bytes): NCCL decides alone",
		       (int)BLOCK);
		return NULL;
	}
	c->fence.seen = NB_FENCE_UNSEEN;
	c->init = *init;
	c->abi = init->abi;
	c->peer = init->peer;
	c->chained = init->peer.ask != NULL;
	c->max_channels = (uint32_t)nb_params.num[NB_P_MAX_CHANNELS];
	c->fence.slot = &c->own_slot;
	c->fence.record = &c->own_record;
	c->fence.timeout_ms = (uint32_t)nb_params.num[NB_P_FENCE_TIMEOUT_MS];
	c->fence.odd = nb_self.seg->membarrier ? 0 : NB_FENCE_FULL;
	fill_base(c);
	locked = !nb_segment_lock(nb_self.seg, (uint32_t)nb_params.num[NB_P_LOCK_TIMEOUT_MS], &err);
	if (!locked)
		go_without_lock(c, &err);
	nb_lock(NB_LOCK_STATE);
	nb_comms.abi = init->abi;
	add_to_list(c);
	log_comm(c);
	nb_unlock(NB_LOCK_STATE);
	if (locked)
		nb_segment_unlock(nb_self.seg);
	return c;
}

static void remove_from_list(struct nb_comm *c)
{
	struct nb_comm **p = &nb_comms.first;

	while (*p && *p != c)
		p = &(*p)->next;
	if (!*p)
		return;
	*p = c->next;
	nb_comms.n--;
	nb_comms.old_decisions += nb_comm_decisions(c);
	for (int i = 0; i < NB_NREFUSED; i++)
		nb_comms.old_refused[i] += nb_comm_refused(c, (enum nb_refused)i);
	nb_gen_count_add(c->gen, &c->count);
}

void nb_comm_free(struct nb_comm *c)
{
	bool locked;

	if (!c)
		return;
	if (c->chained)
		c->peer.end(&c->peer);
	nb_events_untell(c->fence.slot);
	locked = nb_self.seg && !nb_segment_lock(nb_self.seg, LOCK_MS, NULL);
	if (c->lost && nb_self.seg)
		nb_startup_lost_is_gone(nb_self.seg, c->init.comm_id);
	if (c->bars && nb_self.seg)
		nb_startup_lost_is_gone(nb_self.seg, NB_SEG_UNNAMED);
	nb_lock(NB_LOCK_STATE);
	/* the communicator may end before the next tick logs this */
	nb_comm_tell_mismatch(c);
	nb_wrapped_log();
	nb_override_tell();
	remove_from_list(c);
	if (c->entry && locked)
		nb_segment_leave(nb_self.seg, c->entry, c->entry_slot);
	/*
	 * without the lock, leave the slot to the next process that removes
	 * dead ranks
	 */
	else if (c->entry)
		__atomic_store_n(&c->entry->slot[c->entry_slot].state, NB_SLOT_GONE,
				 __ATOMIC_RELEASE);
	nb_unlock(NB_LOCK_STATE);
	if (locked)
		nb_segment_unlock(nb_self.seg);
	munmap(c, BLOCK);
}
