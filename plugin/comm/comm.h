// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_COMM_COMM_H
#define NB_PLUGIN_COMM_COMM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/defs/ctx.h"
#include "core/generation/generation.h"
#include "core/jobseg/packed.h"
#include "plugin/comm/costs.h"
#include "plugin/comm/overdue.h"
#include "plugin/job/fence.h"
#include "plugin/wrap/wrapped_tuner.h"

/* Why an answer was dropped; rows in plugin/comm/refusals.h. */
enum nb_refused {
	NB_REFUSED_NONE,
#define REFUSED(name, word, text) NB_REFUSED_##name,
#include "plugin/comm/refusals.h"
	NB_NREFUSED
};

/* Stable word and sentence of a reason; NULL for NB_REFUSED_NONE. */
const char *nb_refused_word(enum nb_refused why);
const char *nb_refused_text(enum nb_refused why);

enum {
	NB_SIZE_BUCKETS = 64, /* bucket b: 2^b to 2^(b+1)-1 bytes; 0 also 0 */
	NB_LATEST_NONE = NCCL_NUM_COLLS * NB_SIZE_BUCKETS /* no collective */
};

/* The latest decision of a collective and size bucket, and the number of such
 * decisions. Tags in the words say whether they belong to seq. */
struct nb_latest {
	uint64_t seq, count; /* accessed atomically */
	struct nb_packed decision;
	uint64_t pad[2];
};

static inline uint32_t nb_comm_bucket(uint64_t bytes)
{
	return 63 - (uint32_t)__builtin_clzll(bytes | 1);
}

/* NCCL's description of a new communicator. */
struct nb_comm_init {
	uint64_t comm_id; /* 0: the ABI gives none */
	bool has_id;
	uint32_t ranks, nodes;
	uint32_t nvl_domains, nvl_min_ranks, nvl_max_ranks; /* 0: not said */
	uint32_t abi;					    /* 2..6 */
	struct nb_wrapped_tuner
		peer; /* the wrapped tuner, asked first; *taken* */
};

/*
 * One NCCL context: one rank of one communicator. The first part is the
 * deciding thread's alone (NCCL never decides twice at once for one
 * communicator); others read it through the functions below.
 */
struct nb_comm {
	struct nb_fence_rank fence;
	struct nb_gen *gen; /* atomic; borrowed: nb_gens_sweep frees it. A view
			       if the communicator is in a scope */
	bool mismatch;	    /* atomic: ranks started differently */
	bool timed;	    /* atomic: measure some policy runs */
	bool chained;	    /* a wrapped tuner is asked first */
	uint32_t max_channels;
	uint32_t abi;
	/* template of @ctx: the communicator's constants, no answer */
	struct ncclbpf_tuner base;
	/* the current decision's context */
	struct ncclbpf_tuner ctx __attribute__((aligned(64)));
	struct nb_packed *ring;	  /* NB_RING; in the segment if it can be */
	struct nb_latest *latest; /* NCCL_NUM_COLLS * NB_SIZE_BUCKETS */
	struct nb_seen *seen;	  /* NB_SEEN: cost tables seen */
	uint64_t refused[NB_NREFUSED]; /* atomic, this thread writes */
	struct nb_gen_count count;

	/* ---- everybody, constant or with NB_LOCK_STATE ---- */
	struct nb_comm *next;
	struct nb_comm_init init;
	struct nb_wrapped_tuner peer;
	struct nb_seg_comm *seg; /* NULL: no fence reaches it */
	uint32_t slot_index;	 /* its slot in seg; else our own number */
	/* Its slot in the segment, to be released: in seg, or without an
	 * identity in an entry for which nobody arms a fence. NULL: none. */
	struct nb_seg_comm *entry;
	uint32_t entry_slot;
	char why[160]; /* why it is not in the segment; "": it is */
	bool told;     /* the log says that its ranks started differently */
	struct nb_overdue overdue;
	bool begun; /* the deciding thread's: the first decision has been made
		     */
	/* the deciding thread's, before a fence: the number of the next
	 * generation, the prefetch step, and the generation, borrowed as gen is
	 * (NULL: not found yet) */
	struct {
		uint32_t number, step;
		struct nb_gen *gen; /* accessed atomically */
	} ahead;
	bool lost;	    /* it could not register in the segment */
	bool bars;	    /* as lost, without identity; bars changes */
	uint32_t searching; /* atomic: the slow path looks for a gen */
	struct nb_packed *own_ring; /* used if the segment has no free ring */
	struct nb_seg_record own_record; /* used if it has no entry */
	struct nb_seg_slot own_slot;
};

/* The communicators of this process. With NB_LOCK_STATE, except as marked. */
struct nb_comms {
	struct nb_comm *first;
	uint32_t n;
	uint32_t abi; /* version of the tuner interface NCCL called; 0: none */
	bool timed;   /* some runs of policies are timed */
	/* sums over freed communicators */
	uint64_t old_decisions;
	uint64_t old_refused[NB_NREFUSED];
	uint64_t lost; /* atomic: decisions asked for without a context */
};
extern struct nb_comms nb_comms;

/* Decisions of all communicators, freed ones included. */
uint64_t nb_comms_decisions(void);
/* How often answers were refused for one reason, freed communicators included.
 */
uint64_t nb_comms_refused(enum nb_refused why);
/* Enable or disable timing of policy runs in all communicators. */
void nb_comms_time(bool on);

/* In a forked child: no communicator writes into the parent's slots. */
void nb_comms_forked(void);

/*
 * Log once that ranks of @c started differently, and the difference. Ranks of
 * other processes may register later, so the control thread calls it
 * repeatedly. With NB_LOCK_STATE, or before @c is in the list.
 */
void nb_comm_tell_mismatch(struct nb_comm *c);
/*
 * Readers: any thread with NB_LOCK_STATE, which keeps the communicator alive.
 * The deciding thread does not take the lock.
 */

/* Number of decisions made; the next decision has this number. */
uint64_t nb_comm_decisions(const struct nb_comm *c);
/* Its slot in the segment, valid also after @c is freed; NULL: none, or @c is
 * NULL. */
struct nb_seg_slot *nb_comm_slot(const struct nb_comm *c);
/* Copy decision @seq; false: overwritten, or not made yet. */
bool nb_comm_decision(const struct nb_comm *c, uint64_t seq,
		      struct nb_decision *out);
/* Copy the latest decision for @coll with 2^bucket <= bytes < 2^(bucket+1);
 * false: none yet. */
bool nb_comm_latest(const struct nb_comm *c, int coll, uint32_t bucket,
		    struct nb_decision *out);
uint64_t nb_comm_refused(const struct nb_comm *c, enum nb_refused why);
/* The generation it decides with, or its view of it: a borrowed pointer, valid
 * under the lock. *@number gets the generation's number. */
const struct nb_gen *nb_comm_gen(const struct nb_comm *c, uint32_t *number);
/* Ranks of this communicator that this host's segment knows. */
uint32_t nb_comm_local_ranks(const struct nb_comm *c);
/* Can a change reach it? If not, *@why gets the reason (static, or the
 * communicator's). */
bool nb_comm_changeable(const struct nb_comm *c, const char **why);

#endif
