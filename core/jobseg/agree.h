// SPDX-License-Identifier: MIT
#ifndef NB_JOBSEG_AGREE_H
#define NB_JOBSEG_AGREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/jobseg/format.h"

/*
 * Do the ranks of a communicator agree? Judged from the job segment alone,
 * while its processes run or when they are dead: the running hashes tell
 * whether, the rings of decisions tell where.
 *
 * Nothing in a segment is trusted: indices are checked, words are read once.
 */

/* A segment as bytes: mapped by a process of the job, or read from its file. */
struct nb_job {
	const struct nb_seg *seg;
	size_t size;  /* of what can be read behind seg */
	void *memory; /* private: to be freed */
};

/*
 * nb_job_read - the segment file @path as it is now
 *
 * 0, and nb_job_free; NB_E_NOINPUT, NB_E_VERSION (another version of the
 * format), NB_E_IMAGE (no segment), NB_E_NOMEM. Needs no living process.
 */
int nb_job_read(struct nb_job *out, const char *path, struct nb_err *err);
void nb_job_free(struct nb_job *job);

/* Communicator @index; NULL: no such one, or not in use. */
const struct nb_seg_comm *nb_job_comm(const struct nb_job *job, uint32_t index);
/* The ring of a rank; NULL: it has none that can be read. */
const struct nb_packed *nb_job_ring(const struct nb_job *job,
				    const struct nb_seg_slot *slot);
/* Decisions that a rank has made and written down, the latest included. */
uint64_t nb_job_decisions(const struct nb_seg_slot *slot);
/* Has it begun a decision, *@seq, that it has not written down? */
bool nb_job_undecided(const struct nb_seg_slot *slot, uint64_t *seq);
/* "size_aware noop"; "" where that is not known. Cut to @size. */
void nb_job_policies(const struct nb_job *job, uint32_t generation, char *text,
		     size_t size);

enum nb_agreement {
	NB_AGREED,	    /* as far as all have come */
	NB_DIVERGED,	    /* at a decision that is known */
	NB_DIVERGED_BEFORE, /* before the decisions that are kept */
	NB_MISMATCHED, /* they began with different policies, and use none */
	/* of ranks whose clock counts calls of NCCL's API: they agree at each,
	 * but the tuner was not asked equally often; nothing is wrong */
	NB_TUNER_CALLS_DIFFER,
	/* likewise: the tuner was asked alike, but after other calls */
	NB_API_CALLS_DIFFER,
	NB_TOO_FAR, /* too far apart to compare */
	NB_ALONE    /* fewer than two ranks with decisions here */
};

const char *nb_agreement_word(enum nb_agreement a);

/* What a rank made of the decision in question. */
struct nb_agree_rank {
	uint32_t slot, pid;
	bool live;
	uint32_t generation;	  /* it decides with now */
	uint64_t decisions, hash; /* hash: 48 bits, after those decisions */
	uint64_t calls; /* of NCCL's API; 0: none seen, or not counted */
	bool waits;	/* at an undecided fence */
	bool has;	/* decision, of seq */
	bool differs;	/* from what most ranks decided */
	struct nb_decision decision;
};

struct nb_agree {
	enum nb_agreement verdict;
	uint64_t comm_id;
	uint32_t ranks, here; /* of the communicator; of those in the segment */
	enum nb_clock_kind clock; /* what fences are numbers of */
	uint64_t from, to;	  /* decisions compared: [from, to) */
	/* DIVERGED, NB_API_CALLS_DIFFER: the first that differs (as the rank
	 * that is furthest counts them)... */
	uint64_t seq;
	bool earlier; /* ...of those kept: they had differed before */
	/* one rank made decisions more than the others from seq on, else 0:
	 * what ncclGroupSimulateEnd on some ranks looks like */
	uint32_t extra, extra_slot;
	/* DIVERGED: only the answers differ. The ranks were asked the same
	 * all along, so their decision numbers still mean the same: a fence
	 * is one place for all. */
	bool aligned;
	uint32_t n;
	struct nb_agree_rank rank[NB_SEG_SLOTS];
};

/*
 * nb_agree - compare the ranks of communicator @index
 *
 * False: no such communicator, or it is one without identity, whose ranks are
 * not told apart. Ranks may decide meanwhile. Some 100 us a rank.
 */
bool nb_agree(const struct nb_job *job, uint32_t index, struct nb_agree *out);

/* Is a fence no one place for all of its ranks, or have they parted? */
static inline bool nb_agree_broken(const struct nb_agree *a)
{
	return a->verdict == NB_DIVERGED || a->verdict == NB_DIVERGED_BEFORE ||
	       a->verdict == NB_API_CALLS_DIFFER;
}

#endif
