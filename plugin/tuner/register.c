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

#include "plugin/change/lacking.h"
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
#include "plugin/runtime/nccl.h"
#include "plugin/runtime/params.h"
#include "plugin/wrap/wrapped.h"

enum {
	/*
	 * limit for taking the lock when a rank ends, where a time-out does no
	 * harm
	 */
	LOCK_MS = 5000,
	/*
	 * limit after a rank has waited in vain, because the holder may be stopped;
	 * longer than a commit has the lock
	 */
	STUCK_MS = 2000,
	HEAD = (sizeof(struct nb_comm) + 63) / 64 * 64,
	/*
	 * the extra entry is for decisions without a size bucket and is never
	 * read
	 */
	NLATEST = NB_LATEST_NONE + 1,
	BLOCK = HEAD + NB_SEG_RING_SIZE + NLATEST * sizeof(struct nb_latest) +
		NB_SEEN * sizeof(struct nb_seen) + NB_MAP_MAX_STATE
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
	c->state = (unsigned char *)(c->seen + NB_SEEN);
	return c;
}

/* Returns the ranks of each node; 0 if NCCL says no number of nodes. */
static uint32_t per_node(uint32_t ranks, uint32_t nodes)
{
	if (!nodes)
		return 0;
	return ranks % nodes ? NCCLBPF_MIXED : ranks / nodes;
}

static void fill_base(struct nb_comm *c)
{
	c->base = (struct ncclbpf_tuner){
		/* a rank whose profiler is missing would have 0 */
		.comm_id = c->init.has_id == NB_ID_TUNER ? c->init.comm_id : 0,
		.ranks = c->init.ranks,
		.nodes = c->init.nodes,
		.nvl_domains = c->init.nvl_domains,
		.nvl_min_ranks = c->init.nvl_min_ranks,
		.nvl_max_ranks = c->init.nvl_max_ranks,
		.ranks_per_node = per_node(c->init.ranks, c->init.nodes),
		.nccl_algo = NCCL_ALGO_UNDEF,
		.nccl_proto = NCCL_PROTO_UNDEF,
		.algo = NCCL_ALGO_UNDEF,
		.proto = NCCL_PROTO_UNDEF,
		.state = c->state,
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
 * Returns the initial generation of a new rank: the job's, if its peers find out
 * before their first decision that one of them has another. They cannot if NCCL
 * has not told the tuner who they are, or if they are on other hosts, so they start
 * with NCCLBPF_POLICY, which no change replaces. In a fleet those of several hosts
 * start with NCCL's own choice, which needs no agreement (docs/coherence.md).
 */
static struct nb_gen *initial_gen(const struct nb_comm *c)
{
	bool compared = c->init.has_id == NB_ID_TUNER && c->init.nodes < 2;

	return in_fleet(c)
		       ? nb_gens.empty
		       : nb_gen_of(compared ? nb_gens.baseline : nb_gens.first, c->init.comm_id);
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

/* Returns the checksum of the tuner that is asked for this rank; 0: none. */
static uint32_t wrapped_tuner(const struct nb_comm *c)
{
	return c->chained ? nb_wrapped[NB_WRAPPED_TUNER].file.digest : 0;
}

/* Take a slot in the communicator's entry, with which fences reach the rank. */
static void take_slot(struct nb_comm *c, struct nb_seg_comm *entry, uint32_t slot)
{
	struct nb_packed *ring = nb_segment_ring(nb_self.seg, entry, slot);

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
	c->seg = entry;
	c->slot_index = slot;
	c->fence.slot = &entry->slot[slot];
	c->fence.record = &entry->record;
}

/*
 * Note that the communicator cannot have the job's replicated maps if this rank counts no
 * API calls. Changes note it for later generations (nb_lacking_note).
 */
static void note_lacking(const struct nb_comm *c, struct nb_seg_comm *entry)
{
	if ((c->init.calls && c->init.has_id == NB_ID_TUNER) ||
	    !nb_gen_of(nb_gens.baseline, c->init.comm_id)->state_size)
		return;
	__atomic_store_n(&entry->lacks[NB_LACKING_BASELINE],
			 nb_lacking_mark(nb_gens.baseline->digest), __ATOMIC_RELEASE);
}

/*
 * Register the rank in the segment. The caller holds the segment's lock and
 * NB_LOCK_STATE. Without an identity there is no entry for the rank, because
 * ranks of equal communicators could not be told apart in it.
 */
static void join_segment(struct nb_comm *c)
{
	struct nb_seg_proc *self;
	struct nb_seg_comm *entry = NULL;
	struct nb_err err;
	struct nb_joining joining = { .comm_id = c->init.comm_id,
				      .has_id = c->init.has_id,
				      .nranks = c->init.ranks,
				      .nnodes = c->init.nodes,
				      .calls = c->init.calls };
	uint32_t number = 0, slot = 0;
	int rc;

	if (!nb_self_enter()) {
		snprintf(c->why, sizeof(c->why), "the process ends");
		return;
	}
	self = &nb_self.seg->mem->proc[nb_self.seg->proc];
	self->setting[NB_SETTING_ABI] = c->init.abi;
	self->setting[NB_SETTING_CHAIN_TUNER] = wrapped_tuner(c);
	rc = initial_number(c, &number, &err);
	joining.first = number;
	if (!rc && c->init.has_id)
		rc = nb_segment_join(nb_self.seg, &joining, &entry, &slot, &err);
	if (rc) {
		snprintf(c->why, sizeof(c->why), "%.150s", err.text);
		return;
	}
	if (entry)
		number = entry->slot[slot].generation;
	nb_gens_publish(number, c->gen);
	c->fence.number = number;
	if (!entry)
		return;
	note_lacking(c, entry);
	take_slot(c, entry, slot);
}

/*
 * Note a rank without an entry. It may start with another generation than its
 * peers, so NCCL decides for all of them: the peers miss this rank at their
 * first decision. A single rank has no peers, and ranks that cannot miss one
 * start with NCCLBPF_POLICY (initial_gen).
 */
static void mark_lost(struct nb_comm *c)
{
	c->lost = c->init.ranks > 1 && c->init.nodes < 2 && c->init.has_id == NB_ID_TUNER;
	c->mismatch = c->lost;
}

/*
 * Compare the ranks of this process. If the wrapped tuner failed for one rank
 * and not for another, NCCL decides for the whole communicator. Ranks of
 * different processes compare this as a setting when they register.
 */
static void compare_peers(struct nb_comm *c)
{
	for (struct nb_comm *o = nb_comms.first; o; o = o->next) {
		if (o->chained == c->chained || o->init.has_id != NB_ID_TUNER ||
		    c->init.has_id != NB_ID_TUNER || o->init.comm_id != c->init.comm_id)
			continue;
		if (c->seg && c->seg == o->seg)
			nb_startup_differ(
				c->seg, NB_SETTING_CHAIN_TUNER,
				(const uint32_t[2]){ o->slot_index, c->slot_index },
				(const uint32_t[2]){ wrapped_tuner(o), wrapped_tuner(c) });
		__atomic_store_n(&o->mismatch, true, __ATOMIC_RELAXED);
		c->mismatch = true;
	}
}

/* Write why no change reaches a communicator that nothing names. */
static void why_nameless(struct nb_comm *c)
{
	uint32_t profiler = nb_events_abi();

	if (profiler >= NB_PROFILER_NAMES)
		snprintf(c->why, sizeof(c->why),
			 "tuner interface v%u gives communicators no identity, and this thread's "
			 "last init of the profiler was not for %u ranks on %u nodes",
			 c->init.abi, c->init.ranks, c->init.nodes);
	else
		snprintf(c->why, sizeof(c->why),
			 "tuner interface v%u gives communicators no identity (allowed: v5 and "
			 "later, or NCCL 2.27 with NCCL_PROFILER_PLUGIN=ncclbpf)",
			 c->init.abi);
}

static void add_to_list(struct nb_comm *c)
{
	nb_change_sync();
	c->gen = initial_gen(c);
	c->fence.number = nb_gens.baseline_number;
	c->slot_index = nb_comms.n;
	if (!c->why[0])
		join_segment(c);
	if (!c->seg)
		mark_lost(c);
	compare_peers(c);
	if (!c->init.has_id)
		why_nameless(c);
	c->timed = nb_comms.timed;
	c->next = nb_comms.first;
	nb_comms.first = c;
	nb_comms.n++;
}

/* Lock the segment. Each rank would wait as long for a holder that is stopped. */
static bool register_lock(uint32_t ms, struct nb_err *err)
{
	bool *stuck = &nb_self.seg->stuck, locked;

	if (ms > STUCK_MS && __atomic_load_n(stuck, __ATOMIC_RELAXED))
		ms = STUCK_MS;
	locked = !nb_segment_lock(nb_self.seg, ms, err);
	__atomic_store_n(stuck, !locked, __ATOMIC_RELAXED);
	return locked;
}

/* Log once that ranks which nobody compares may start differently. */
static void tell_other_policies(void)
{
	static bool told;
	const struct nb_seg_proc *p = told ? NULL : nb_startup_other(nb_self.seg);

	if (!p)
		return;
	told = true;
	nb_log(NB_LOG_WARN,
	       "process %llu of the job started with another NCCLBPF_POLICY: if it shares a "
	       "communicator with this one, their ranks may choose apart; give all processes the "
	       "same value and files",
	       (unsigned long long)p->pid);
}

/*
 * Log the new communicator. The caller holds NB_LOCK_STATE, because the
 * communicator is in the list.
 */
static void log_comm(struct nb_comm *c)
{
	static bool told;

	nb_comm_tell_mismatch(c);
	if (c->init.has_id != NB_ID_TUNER && c->init.ranks > 1)
		tell_other_policies();
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
	c->chunks = init->abi >= 6 && !nb_nccl_is_rccl();
	c->max_channels = (uint32_t)nb_params.num[NB_P_MAX_CHANNELS];
	if (c->max_channels > nb_nccl_channels())
		c->max_channels = nb_nccl_channels();
	c->fence.slot = &c->own_slot;
	c->fence.record = &c->own_record;
	c->fence.timeout_ms = (uint32_t)nb_params.num[NB_P_FENCE_TIMEOUT_MS];
	c->fence.odd = nb_self.seg->membarrier ? 0 : NB_FENCE_FULL;
	fill_base(c);
	locked = register_lock((uint32_t)nb_params.num[NB_P_LOCK_TIMEOUT_MS], &err);
	if (!locked) /* its holder is stuck, perhaps in a commit */
		snprintf(c->why, sizeof(c->why), "%.150s", err.text);
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
	locked = nb_self.seg && register_lock(LOCK_MS, NULL);
	nb_lock(NB_LOCK_STATE);
	/* the communicator may end before the next tick logs this */
	nb_comm_tell_mismatch(c);
	nb_gens_tell_missing(c);
	nb_comm_tell_uncounted(c);
	nb_wrapped_log();
	nb_override_tell();
	remove_from_list(c);
	if (c->seg && locked)
		nb_segment_leave(nb_self.seg, c->seg, c->slot_index);
	/*
	 * without the lock, leave the slot to the next process that removes
	 * dead ranks
	 */
	else if (c->seg)
		__atomic_store_n(&c->seg->slot[c->slot_index].state, NB_SLOT_GONE,
				 __ATOMIC_RELEASE);
	nb_unlock(NB_LOCK_STATE);
	if (locked)
		nb_segment_unlock(nb_self.seg);
	munmap(c, BLOCK);
}
