// SPDX-License-Identifier: MIT
#ifndef NB_JOB_SEGMENT_AGREE_H
#define NB_JOB_SEGMENT_AGREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/job/segment/format.h"

/*
 * Do the ranks of a communicator make the same decisions? The job segment
 * alone gives the answer, for live and for dead processes: running hashes show
 * whether ranks diverged, and rings of decisions show where.
 *
 * The segment is not trusted: indices are checked, and each word is read once.
 */

/* A segment as bytes: mapped by a process of the job, or read from its file. */
struct nb_job {
	const struct nb_seg *seg;
	size_t size;  /* Bytes that can be read from seg on. */
	void *memory; /* Private memory, which nb_job_free frees. */
};

/*
 * nb_job_read - copy the segment file @path
 *
 * Returns 0 (call nb_job_free later), NB_E_NOINPUT, NB_E_VERSION (another
 * version of the format), NB_E_IMAGE (the file is no segment) or NB_E_NOMEM.
 * Needs no living process.
 */
int nb_job_read(struct nb_job *out, const char *path, struct nb_err *err);
void nb_job_free(struct nb_job *job);

/* Return communicator @index; NULL if the index is too large or not in use. */
const struct nb_seg_comm *nb_job_comm(const struct nb_job *job, uint32_t index);
/* Return the ring of a rank; NULL if it has none, or if the ring lies
 * outside the segment. */
const struct nb_packed *nb_job_ring(const struct nb_job *job, const struct nb_seg_slot *slot);
/* Return the number of decisions that a rank has recorded. */
uint64_t nb_job_decisions(const struct nb_seg_slot *slot);
/* Has the rank begun a decision that it has not recorded? Then *@seq is its
 * number. */
bool nb_job_undecided(const struct nb_seg_slot *slot, uint64_t *seq);
/* Write the names of a generation's policies, as in "size_aware noop"; ""
 * if unknown. The text is cut to @size. */
void nb_job_policies(const struct nb_job *job, uint32_t generation, char *text, size_t size);

enum nb_agreement {
	/* All ranks chose the same in each decision that all have made. */
	NB_AGREED,
	/* The ranks diverged at a decision that the rings still hold. */
	NB_DIVERGED,
	/* The ranks diverged before the oldest decision in the rings. */
	NB_DIVERGED_BEFORE,
	/* Ranks started with different policies, so none of them decides. */
	NB_MISMATCHED,
	/* The clock counts calls of NCCL's API. Ranks agree after each
	 * call, but they asked the tuner a different number of times; this
	 * is allowed. */
	NB_TUNER_CALLS_DIFFER,
	/* The clock counts API calls: ranks asked the same questions after
	 * different calls. */
	NB_API_CALLS_DIFFER,
	/* NCCL asked the tuners of some ranks more often, or one rank alone,
	 * and no clock tells which decisions belong together; this is allowed.
	 */
	NB_COUNTS_DIFFER,
	/* The decisions agree, but the contents of replicated maps differ
	 * after API call nb_agree.seq. */
	NB_STATE_DIFFERS,
	NB_TOO_FAR, /* The rings have no decision in common. */
	NB_ALONE    /* No rank of this host has decisions, or there is only one. */
};

const char *nb_agreement_word(enum nb_agreement a);

/* A rank's position, and its decision with number nb_agree.seq. */
struct nb_agree_rank {
	uint32_t slot, pid;
	bool live;
	uint32_t generation; /* The rank's current generation. */
	/* Number of the rank's decisions; 48-bit hash over all of them. */
	uint64_t decisions, hash;
	/* Calls of NCCL's API; 0 if there were none, or if they are not
	 * counted. */
	uint64_t calls;
	bool waits;   /* The rank waits at an undecided fence. */
	bool has;     /* The member decision is valid. */
	bool differs; /* The decision differs from that of most ranks. */
	struct nb_decision decision;
	int32_t rank; /* Rank number from the launcher; -1 if unknown. */
	/* Index of the rank's segment, if several are compared. */
	uint32_t site;
	/*
	 * The rank has no ring. It agrees with the rank of its site that has
	 * one.
	 */
	bool agrees;
};

struct nb_agree {
	enum nb_agreement verdict;
	uint64_t comm_id;
	/* Number of all ranks, and of ranks in this segment. */
	uint32_t ranks, here;
	enum nb_clock_kind clock; /* The events that number the fences. */
	uint64_t from, to;	  /* The decisions compared: [from, to). */
	uint64_t least, most;	  /* Fewest and most decisions of a rank. */
	/* NB_DIVERGED, NB_API_CALLS_DIFFER, NB_COUNTS_DIFFER: the first
	 * decision in the rings that differs, as the rank furthest ahead counts
	 * decisions. */
	uint64_t seq;
	bool earlier; /* Ranks had already diverged before seq. */
	/* @extra: number of extra decisions that rank extra_slot made from
	 * seq on, else 0. ncclGroupSimulateEnd on some ranks causes this. */
	uint32_t extra, extra_slot, extra_site;
	/* NB_DIVERGED: ranks had the same questions and only the answers
	 * differ. A fence is still the same decision for all ranks. */
	bool aligned;
	/* Were two ranks offered different combinations for one question? NCCL
	 * compares a call's configuration (ncclCollConfig_t) on each rank alone.
	 * Their indices, and their decisions. */
	bool offers;
	uint32_t offer_rank[2];
	struct nb_decision offer[2];
	uint32_t n;
	/* The compared ranks: @own, or memory of the caller. */
	struct nb_agree_rank *rank;
	struct nb_agree_rank own[NB_SEG_SLOTS];
};

/*
 * nb_agree - compare the ranks of communicator @index
 *
 * Returns false if there is no such communicator, or if it has no identity, so
 * that its ranks cannot be distinguished. Ranks may decide meanwhile. This
 * takes about 100 us for each rank.
 */
bool nb_agree(const struct nb_job *job, uint32_t index, struct nb_agree *out);

/* Compare again, up to five times, if ranks overwrote their rings meanwhile. */
bool nb_agree_at_rest(const struct nb_job *job, uint32_t index, struct nb_agree *out);

struct nb_track;

/*
 * nb_agree_tracks - compare ranks that the caller has read
 * @a:     comm_id, ranks, here, clock, n and rank are set, all else is 0
 * @track: rings and positions of these ranks
 */
void nb_agree_tracks(struct nb_agree *a, struct nb_track *track);

/*
 * Have the ranks diverged, or do their fences no longer mean the same decision?
 */
static inline bool nb_agree_broken(const struct nb_agree *a)
{
	return a->verdict == NB_DIVERGED || a->verdict == NB_DIVERGED_BEFORE ||
	       a->verdict == NB_API_CALLS_DIFFER || a->verdict == NB_STATE_DIFFERS;
}

#endif
