// SPDX-License-Identifier: MIT
#ifndef NB_JOBSEG_AGREE_H
#define NB_JOBSEG_AGREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/jobseg/format.h"

/*
 * Do the ranks of a communicator make the same decisions? The job segment alone
 * answers, of live and of dead processes: running hashes show whether ranks
 * diverged, rings of decisions show where.
 *
 * The segment is not trusted: indices are checked, and each word is read once.
 */

/* A segment as bytes: mapped by a process of the job, or read from its file. */
struct nb_job {
	const struct nb_seg *seg;
	size_t size;  /* bytes that can be read from seg on */
	void *memory; /* private; nb_job_free frees it */
};

/*
 * nb_job_read - copy the segment file @path
 *
 * 0: call nb_job_free later. NB_E_NOINPUT, NB_E_VERSION (another version of the
 * format), NB_E_IMAGE (no segment), NB_E_NOMEM. Needs no living process.
 */
int nb_job_read(struct nb_job *out, const char *path, struct nb_err *err);
void nb_job_free(struct nb_job *job);

/* Communicator @index; NULL: the index is too large, or not in use. */
const struct nb_seg_comm *nb_job_comm(const struct nb_job *job, uint32_t index);
/* The ring of a rank; NULL: no ring, or outside the segment. */
const struct nb_packed *nb_job_ring(const struct nb_job *job,
				    const struct nb_seg_slot *slot);
/* Number of decisions that a rank has recorded. */
uint64_t nb_job_decisions(const struct nb_seg_slot *slot);
/* Has the rank begun a decision, *@seq, and not recorded it? */
bool nb_job_undecided(const struct nb_seg_slot *slot, uint64_t *seq);
/* Names of a generation's policies, as in "size_aware noop"; "": unknown. Cut
 * to
 * @size. */
void nb_job_policies(const struct nb_job *job, uint32_t generation, char *text,
		     size_t size);

enum nb_agreement {
	NB_AGREED,	    /* on all decisions that every rank has made */
	NB_DIVERGED,	    /* at a decision that the rings still hold */
	NB_DIVERGED_BEFORE, /* before the oldest decision in the rings */
	NB_MISMATCHED, /* ranks started with different policies; none decides */
	/* The clock counts calls of NCCL's API. Ranks agree after each call,
	 * but asked the tuner a different number of times; this is allowed. */
	NB_TUNER_CALLS_DIFFER,
	/* The clock counts API calls: ranks asked the same questions after
	 * different calls. */
	NB_API_CALLS_DIFFER,
	NB_TOO_FAR, /* the rings have no decision in common */
	NB_ALONE    /* fewer than two ranks of this host have decisions */
};

const char *nb_agreement_word(enum nb_agreement a);

/* A rank's position, and its decision nb_agree.seq. */
struct nb_agree_rank {
	uint32_t slot, pid;
	bool live;
	uint32_t generation;	  /* the current one */
	uint64_t decisions, hash; /* hash: 48 bits, after those decisions */
	uint64_t calls; /* calls of NCCL's API; 0: none, or not counted */
	bool waits;	/* at an undecided fence */
	bool has;	/* decision is valid */
	bool differs;	/* from the decision of most ranks */
	struct nb_decision decision;
	int32_t rank;  /* from the launcher; -1: unknown */
	uint32_t site; /* index of its segment, where several are compared */
	/* without a ring: agrees with the rank of its site that has one */
	bool agrees;
};

struct nb_agree {
	enum nb_agreement verdict;
	uint64_t comm_id;
	uint32_t ranks, here;	  /* all ranks; ranks in this segment */
	enum nb_clock_kind clock; /* events that number the fences */
	uint64_t from, to;	  /* decisions compared: [from, to) */
	/* NB_DIVERGED, NB_API_CALLS_DIFFER: the first decision in the rings
	 * that differs, in the numbers of the rank furthest ahead */
	uint64_t seq;
	bool earlier; /* ranks had diverged before seq already */
	/* extra decisions that rank extra_slot made from seq on, else 0.
	 * ncclGroupSimulateEnd on some ranks causes this. */
	uint32_t extra, extra_slot, extra_site;
	/* NB_DIVERGED: ranks had the same questions and only the answers
	 * differ. A fence is still the same decision for all ranks. */
	bool aligned;
	uint32_t n;
	struct nb_agree_rank *rank; /* own, or the caller's */
	struct nb_agree_rank own[NB_SEG_SLOTS];
};

/*
 * nb_agree - compare the ranks of communicator @index
 *
 * False: there is no such communicator, or it has no identity, so its ranks
 * cannot be distinguished. Ranks may decide meanwhile. About 100 us a rank.
 */
bool nb_agree(const struct nb_job *job, uint32_t index, struct nb_agree *out);

struct nb_track;

/*
 * nb_agree_tracks - compare ranks that the caller has read
 * @a:     comm_id, ranks, here, clock, n and rank are set, all else is 0
 * @track: rings and positions of these ranks
 */
void nb_agree_tracks(struct nb_agree *a, struct nb_track *track);

/* Have the ranks diverged, or do fences no longer line up? */
static inline bool nb_agree_broken(const struct nb_agree *a)
{
	return a->verdict == NB_DIVERGED || a->verdict == NB_DIVERGED_BEFORE ||
	       a->verdict == NB_API_CALLS_DIFFER;
}

#endif
