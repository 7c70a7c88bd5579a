// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_COMM_H
#define NB_PLUGIN_COMM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/hook/gen.h"
#include "core/job/packed.h"
#include "core/tbl/ctx.h"
#include "plugin/chain_tuner.h"
#include "plugin/costs.h"
#include "plugin/fence.h"

struct nb_runtime;

/* Why an answer was not taken; rows in plugin/refusals.h. */
enum nb_refused {
	NB_REFUSED_NONE,
#define REFUSED(name, word, text) NB_REFUSED_##name,
#include "plugin/refusals.h"
	NB_NREFUSED
};

/* Stable word and sentence of a reason; NULL for NB_REFUSED_NONE. */
const char *nb_refused_word(enum nb_refused why);
const char *nb_refused_text(enum nb_refused why);

enum {
	NB_SIZE_BUCKETS = 64, /* bucket b: 2^b to 2^(b+1)-1 bytes; 0 also 0 */
	NB_LATEST_NONE = NCCL_NUM_COLLS * NB_SIZE_BUCKETS /* no collective */
};

/* The latest decision of a collective and size bucket, and how many there
 * were. The words say whether they are those of seq. */
struct nb_latest {
	uint64_t seq, count; /* atomic */
	struct nb_packed decision;
	uint64_t pad[2];
};

static inline uint32_t nb_comm_bucket(uint64_t bytes)
{
	return 63 - (uint32_t)__builtin_clzll(bytes | 1);
}

/* What NCCL says of a communicator when it is made. */
struct nb_comm_init {
	uint64_t comm_id; /* 0: the ABI gives none */
	bool has_id;
	uint32_t ranks, nodes;
	uint32_t nvl_domains, nvl_min_ranks, nvl_max_ranks; /* 0: not said */
	uint32_t abi;					    /* 2..6 */
	struct nb_chained peer; /* the tuner that is asked first; taken */
};

/*
 * One NCCL context: one rank of one communicator. The first part is the
 * deciding thread's alone (NCCL never decides twice at once for one
 * communicator); others read it through the functions below.
 */
struct nb_comm {
	/* ---- the decision path ---- */
	struct nb_fence_rank fence;
	struct nb_gen *gen; /* atomic; borrowed: the runtime sweeps. A view
			     * where the communicator stands in a scope */
	bool mismatch;	    /* atomic: ranks began differently */
	bool timed;	    /* atomic: some runs of policies take the time */
	bool chained;	    /* another tuner is asked first */
	uint32_t max_channels;
	uint32_t abi;
	struct ncclbpf_tuner base; /* constants and "no opinion" */
	/* of the decision going on */
	struct ncclbpf_tuner ctx __attribute__((aligned(64)));
	struct nb_packed *ring;	  /* NB_RING; in the segment if it can be */
	struct nb_latest *latest; /* NCCL_NUM_COLLS * NB_SIZE_BUCKETS */
	struct nb_seen *seen;	  /* NB_SEEN: cost tables met */
	uint64_t refused[NB_NREFUSED]; /* atomic, this thread writes */
	struct nb_gen_count count;

	/* ---- everybody, constant or under the runtime's lock ---- */
	struct nb_runtime *rt;
	struct nb_comm *next;
	struct nb_comm_init init;
	struct nb_chained peer;
	struct nb_seg_comm *seg; /* NULL: no fence reaches it */
	uint32_t slot_index;	 /* in seg; else a number of our own */
	/* Its place in the segment, to be given back; seg, or where NCCL gives
	 * no identity an entry that nobody arms. NULL: none. */
	struct nb_seg_comm *entry;
	uint32_t entry_slot;
	char why[160]; /* why it is not in the segment; "" */
	bool told;     /* that its ranks began differently */
	bool begun;    /* its thread's: the first decision has come */
	/* its thread's: the generation behind the fence ahead, how far the
	 * way to it has been asked for, and that itself, borrowed as gen is;
	 * NULL: not found yet */
	struct {
		uint32_t number, step;
		struct nb_gen *gen; /* atomic */
	} ahead;
	bool lost; /* the segment has no place for it */
	bool bars; /* likewise, and while it lives the baseline stays */
	uint32_t searching;	    /* atomic: the slow path looks for a gen */
	struct nb_packed *own_ring; /* used where the segment has none */
	struct nb_seg_record own_record; /* where there is no entry */
	struct nb_seg_slot own_slot;
};

/*
 * nb_comm_new - a rank's context, registered with runtime and segment
 *
 * Never on a decision path. NULL only when memory is short (logged).
 */
struct nb_comm *nb_comm_new(struct nb_runtime *rt,
			    const struct nb_comm_init *init);
/*
 * Log, once, that ranks of @c began differently, and in what, if they did. A
 * rank of another process may have come later: the control thread asks again
 * and again. Under the runtime's lock, or before others know @c.
 */
void nb_comm_tell_mismatch(struct nb_comm *c);
/* Unregister and free; its counters go to the runtime. NULL is fine. */
void nb_comm_free(struct nb_comm *c);

/*
 * Readers, any thread that holds the runtime's lock (it keeps the
 * communicator alive; the deciding thread never takes it).
 */

/* Decisions made so far: those numbered below this. */
uint64_t nb_comm_decisions(const struct nb_comm *c);
/* Its slot in the segment, which stays when @c is gone; NULL: it has none, or
 * @c is NULL. */
struct nb_seg_slot *nb_comm_slot(const struct nb_comm *c);
/* Copy decision @seq; false: not there any more, or not yet. */
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
/* Can a change reach it? If not, *@why gets the sentence (static or the
 * communicator's). */
bool nb_comm_changeable(const struct nb_comm *c, const char **why);

/* The answer after each policy of the generation, for `explain`. */
struct nb_explain_step {
	const char *policy; /* name; valid under the lock */
	int algo, proto;
	uint32_t channels;
	bool changed;
};

struct nb_explain {
	bool seen; /* a decision of that bucket exists; else NCCL's own choice
		    * and the offered combinations are not known */
	struct nb_decision basis;  /* the decision the context comes from */
	struct nb_decision answer; /* after checking */
	uint32_t generation;
	struct nb_order order; /* of those that run, by number in step */
	struct nb_explain_step step[NB_GEN_MAX_POLICIES];
};

/*
 * nb_comm_explain - what @c would decide for @coll and @bytes, and why
 *
 * Runs the current generation on copies of its maps with a context made from
 * the latest decision of that collective and size bucket; where there is none,
 * @out->seen is false and the policies see every combination offered and no
 * choice of NCCL's. Costs are those of that decision while they are kept
 * (NB_SEEN tables); otherwise policies do not know them, and an answer that
 * names an algorithm or a protocol alone gets the partner of the latest
 * decision where that fits, else the first one offered. Under the runtime's
 * lock. 0, NB_E_NOMEM, NB_E_ARG (@coll).
 */
int nb_comm_explain(const struct nb_comm *c, int coll, uint64_t bytes,
		    struct nb_explain *out, struct nb_err *err);

/*
 * The parts of it, for plugin/why.c: the context that policies get for
 * @e->basis with @bytes (@table keeps its costs); and from what they left in
 * @ctx the answer, into @e->answer, which holds NCCL's choice before.
 */
struct ncclbpf_tuner;
void nb_comm_explain_context(const struct nb_comm *c,
			     const struct nb_explain *e, uint64_t bytes,
			     float table[NB_COSTS_KNOWN],
			     struct ncclbpf_tuner *ctx);
void nb_comm_explain_answer(const struct nb_comm *c, struct nb_explain *e,
			    const struct ncclbpf_tuner *ctx);

#endif
