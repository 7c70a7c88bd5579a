// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_COMM_COMM_H
#define NB_PLUGIN_COMM_COMM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/defs/ctx.h"
#include "core/bpf/generation/generation.h"
#include "core/job/segment/packed.h"
#include "plugin/comm/costs.h"
#include "plugin/job/fence.h"
#include "plugin/job/startup.h"
#include "plugin/wrap/wrapped_tuner.h"

/*
 * Reasons why an answer was dropped. core/defs/refusals.h has a row for each.
 */
enum nb_refused {
	NB_REFUSED_NONE,
#define REFUSED(name, word, text) NB_REFUSED_##name,
#include "core/defs/refusals.h"
	NB_NREFUSED
};

/*
 * Return the word and the sentence of a reason; NULL for NB_REFUSED_NONE. The
 * words never change.
 */
const char *nb_refused_word(enum nb_refused why);
const char *nb_refused_text(enum nb_refused why);

enum {
	/* bucket b has 2^b to 2^(b+1)-1 bytes; bucket 0 also 0 bytes */
	NB_SIZE_BUCKETS = 64,
	/* index of the entry for decisions without a collective */
	NB_LATEST_NONE = NCCL_NUM_COLLS * NB_SIZE_BUCKETS
};

/*
 * The latest decision of a collective and size bucket, and the number of such
 * decisions. Tags in the words show whether a word belongs to decision seq.
 */
struct nb_latest {
	uint64_t seq, count; /* accessed atomically */
	struct nb_packed decision;
	uint64_t chunk; /* accessed atomically: word of the decision's chunk size */
	uint64_t pad;
};

static inline uint32_t nb_comm_bucket(uint64_t bytes)
{
	return 63 - (uint32_t)__builtin_clzll(bytes | 1);
}

/*
 * Detects a decision that takes too long. The deciding thread does not measure
 * time. Its slot holds the number of the decision that the thread has begun.
 * Its decision hash holds the number of the last decision that the thread has
 * finished. The control thread compares both numbers at intervals.
 */
struct nb_overdue {
	uint64_t seq; /* number of the decision; valid if since_ns is not 0 */
	/*
	 * when the control thread first saw the decision unfinished
	 * (CLOCK_MONOTONIC)
	 */
	uint64_t since_ns;
	bool told;
};

/* NCCL's description of a new communicator. */
struct nb_comm_init {
	/* identity of the communicator, and what gives it; 0: nothing does */
	uint64_t comm_id;
	enum nb_seg_id has_id;
	uint32_t ranks, nodes;
	/*
	 * NCCL may ask the tuners of some ranks only; this rank's API calls are
	 * counted
	 */
	bool asks_some, calls;
	/*
	 * number of NVLink domains, and of ranks in the smallest and the
	 * largest; 0 if NCCL does not report them
	 */
	uint32_t nvl_domains, nvl_min_ranks, nvl_max_ranks;
	uint32_t abi; /* version of the tuner interface, 2 to 7 */
	struct nb_wrapped_tuner
		/*
		 * the wrapped tuner, which is asked before the policies;
		 * nb_comm_new takes ownership
		 */
		peer;
};

/*
 * NCCL's context of one rank of one communicator. Only the deciding thread uses
 * the first part (NCCL makes one decision at a time for a communicator). Other
 * threads read it through the functions below.
 */
struct nb_comm {
	struct nb_fence_rank fence;
	/*
	 * current generation, or its scope for this communicator. Borrowed:
	 * nb_gens_sweep frees it; accessed atomically
	 */
	struct nb_gen *gen;
	/* ranks of the communicator started differently; accessed atomically */
	bool mismatch;
	bool timed;   /* some policy runs must be timed; accessed atomically */
	bool chained; /* the wrapped tuner is asked before the policies */
	bool chunks;  /* NCCL asks for chunk sizes (plugin/tuner/chunk.h) */
	bool chunked; /* policies of @gen have chosen some */
	/* @gen is NCCL's own choice, because the policies' replicated maps need a
	 * count of API calls; accessed atomically */
	bool uncounted;
	uint32_t max_channels;
	uint32_t abi;
	/* template of @ctx: constants of the communicator, and no answer */
	struct ncclbpf_tuner base;
	/* context of the current decision */
	struct ncclbpf_tuner ctx __attribute__((aligned(64)));
	/*
	 * chunk size of the latest decision for each collective and entry of
	 * the cost table; 0: NCCL's own
	 */
	uint32_t chunk_size[NCCL_NUM_COLLS][NB_COSTS_KNOWN];
	/* contents of the replicated maps: NB_MAP_MAX_STATE bytes */
	unsigned char *state;
	/* NB_RING decisions, in the segment if it has a free ring */
	struct nb_packed *ring;
	/* the latest decisions: NCCL_NUM_COLLS * NB_SIZE_BUCKETS entries */
	struct nb_latest *latest;
	/* the last NB_SEEN cost tables that NCCL passed */
	struct nb_seen *seen;
	/*
	 * numbers of refused answers, which only this thread writes; accessed
	 * atomically
	 */
	uint64_t refused[NB_NREFUSED];
	struct nb_gen_count count;

	/*
	 * Any thread uses the fields below. They are constant, or protected by
	 * NB_LOCK_STATE.
	 */
	struct nb_comm *next;
	struct nb_comm_init init;
	struct nb_wrapped_tuner peer;
	/* entry in the segment; NULL: no fence reaches this communicator */
	struct nb_seg_comm *seg;
	uint32_t slot_index; /* slot in seg, or else a number of our own */
	/* why the communicator is not in the segment, or "" */
	char why[NB_STARTUP_WHY];
	/* the log says that the communicator's ranks started differently */
	bool told;
	/*
	 * number of a generation that this process did not hold when the rank
	 * had to adopt it, or 0; accessed atomically
	 */
	uint32_t missing;
	bool told_missing; /* the log says so */
	bool told_uncounted;
	/*
	 * the log says why the fleet leaves the communicator to NCCL; number of
	 * ticks since there is a reason
	 */
	bool told_fleet;
	unsigned fleet_ticks;
	struct nb_overdue overdue;
	/* the first decision was made; only the deciding thread uses it */
	bool begun;
	/*
	 * What was prepared for the next fence: the number of the next
	 * generation, the prefetch step, and the generation, borrowed like gen
	 * (NULL: not found yet). Only the deciding thread writes it.
	 */
	struct {
		uint32_t number, step;
		struct nb_gen *gen; /* accessed atomically */
	} ahead;
	bool lost; /* the rank could not register in the segment */
	/* a decision is searching for a generation; accessed atomically */
	uint32_t searching;
	/* ring that is used if the segment has no free ring */
	struct nb_packed *own_ring;
	/* record that is used if the segment has no free entry */
	struct nb_seg_record own_record;
	struct nb_seg_slot own_slot;
};

/*
 * The communicators of this process. Protected by NB_LOCK_STATE, except where
 * noted.
 */
struct nb_comms {
	struct nb_comm *first;
	uint32_t n;
	/* version of the tuner interface that NCCL uses; 0: none */
	uint32_t abi;
	bool timed; /* the communicators time some policy runs */
	/* sums over the counters of freed communicators */
	uint64_t old_decisions;
	uint64_t old_refused[NB_NREFUSED];
	/*
	 * number of decisions for which NCCL passed no context; accessed
	 * atomically
	 */
	uint64_t lost;
};
extern struct nb_comms nb_comms;

/* Returns the decisions of all communicators, including freed ones. */
uint64_t nb_comms_decisions(void);
/*
 * Returns how many answers were dropped for one reason, also in communicators
 * that were freed.
 */
uint64_t nb_comms_refused(enum nb_refused why);
/* Enable or disable timing of policy runs in all communicators. */
void nb_comms_time(bool on);

/* In a forked child, disconnect all communicators from the parent's slots. */
void nb_comms_forked(void);

/*
 * Returns true if ranks of @c started with different policies or settings, and
 * in words what follows: "it ..." or "each ...".
 */
bool nb_comm_differs(const struct nb_comm *c);
const char *nb_comm_differs_so(const struct nb_comm *c);
/*
 * Log once that ranks of @c started differently, and how. Ranks of other
 * processes may register later, so the control thread calls it repeatedly. The
 * caller holds NB_LOCK_STATE, or @c is not yet in the list.
 */
void nb_comm_tell_mismatch(struct nb_comm *c);
/*
 * Log once that NCCL decides for the communicator, because its policies have
 * replicated maps and its ranks do not count API calls. The caller holds
 * NB_LOCK_STATE.
 */
void nb_comm_tell_uncounted(struct nb_comm *c);
/*
 * Log once why the fleet leaves the communicator to NCCL, for example because
 * some hosts lack NCCLBPF_FLEET. Call it once a second; a reason that passes
 * while ranks register is not logged. The caller holds NB_LOCK_STATE.
 */
void nb_comm_tell_fleet(struct nb_comm *c);
/*
 * Returns true if the communicator's hosts began with policies that nobody has
 * compared: it spans hosts, and the job has no fleet.
 */
bool nb_comm_uncompared(const struct nb_comm *c);
/*
 * Any thread may call the functions below if it holds NB_LOCK_STATE, which
 * keeps the communicator alive. The deciding thread does not take the lock.
 */

/*
 * Returns the number of decisions made, which is also the number of the next
 * decision.
 */
uint64_t nb_comm_decisions(const struct nb_comm *c);
/*
 * Returns the communicator's slot in the segment, which stays valid after @c is
 * freed. Returns NULL if there is none or @c is NULL.
 */
struct nb_seg_slot *nb_comm_slot(const struct nb_comm *c);
/*
 * Returns the communicator's NB_RING last decisions, or NULL if they are not
 * in the segment, which stays mapped until the process ends.
 */
const struct nb_packed *nb_comm_ring(const struct nb_comm *c);
/* Copy decision @seq. Returns false if it was overwritten or not yet made. */
bool nb_comm_decision(const struct nb_comm *c, uint64_t seq, struct nb_decision *out);
/*
 * Copy the latest decision for @coll with 2^bucket <= bytes < 2^(bucket+1).
 * Returns false if there is none.
 */
bool nb_comm_latest(const struct nb_comm *c, int coll, uint32_t bucket, struct nb_decision *out);
/*
 * Combinations that NCCL offered for one collective and size bucket: @decisions
 * of the recorded decisions had this offer. From 2.31 on a call may have a
 * configuration of its own, so there may be several offers.
 */
struct nb_offer {
	uint32_t usable, decisions;
	struct nb_decision last; /* the latest of them */
};

enum { NB_OFFERS = 8 };

/*
 * nb_comm_offers - list the offers among the communicator's recorded decisions
 *
 * The largest offer comes first, so that ranks at different calls list the
 * same one first. Returns their number. Further offers than NB_OFFERS, and
 * tables that offer nothing, are left out.
 */
uint32_t nb_comm_offers(const struct nb_comm *c, int coll, uint32_t bucket,
			struct nb_offer out[NB_OFFERS]);
uint64_t nb_comm_refused(const struct nb_comm *c, enum nb_refused why);
/*
 * Returns the generation that the communicator decides with, or its scope in
 * that generation. The pointer is borrowed and valid under the lock. *@number
 * is set to the generation's number.
 */
const struct nb_gen *nb_comm_gen(const struct nb_comm *c, uint32_t *number);
/* Returns how many ranks of this communicator are in this host's segment. */
uint32_t nb_comm_local_ranks(const struct nb_comm *c);
/*
 * Returns true if a change can reach the communicator. If not, @why is set to
 * the reason.
 */
bool nb_comm_changeable(const struct nb_comm *c, char why[NB_STARTUP_WHY]);

#endif
