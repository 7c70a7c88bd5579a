// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_JOB_FENCE_RECORD_H
#define NB_PLUGIN_JOB_FENCE_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "core/jobseg/format.h"

struct nb_segment;
struct nb_record;

/*
 * A communicator's decision record, and all operations that the fence protocol
 * (plugin/job/fence.c) needs of it. The back end for one host is the segment.
 * One for ranks on several hosts has the same functions over a store that the
 * hosts share (docs/adr/0004-record-back-end.md).
 *
 * A decision itself calls none of them. It announces its number in its own
 * host's slot and reads one word of its own host, nb_seg_record.word: in the
 * segment's back end that word is the record. With another back end an agent
 * on each host keeps a copy there, which may lag but never goes back.
 */

/*
 * State of a rank as this process knows it. It may be outdated, but it is never
 * ahead of the rank.
 */
struct nb_standing {
	uint64_t announced;  /* number of decisions that the rank has begun */
	uint64_t waiting;    /* the ARMED word that the rank waits for, or 0 */
	uint32_t generation; /* generation that the rank decides with */
	uint32_t state;	     /* state of the slot (enum nb_seg_slot_state) */
};

/*
 * Operations of a record. Any thread of any rank or coordinator may call them
 * concurrently.
 */
struct nb_record_ops {
	/*
	 * Load the word that all hosts share, and change it by
	 * compare-and-swap.
	 */
	uint64_t (*load)(const struct nb_record *r);
	bool (*swap)(const struct nb_record *r, uint64_t from, uint64_t to);

	/*
	 * The word that an abort restores. It is set before the arming, so
	 * whoever reads the armed word sees this fallback or a later one.
	 */
	uint64_t (*fallback)(const struct nb_record *r);
	void (*set_fallback)(const struct nb_record *r, uint64_t word);

	/*
	 * A barrier. After it returns, each rank's decision sees the word as it
	 * was at the time of the call, or a later one, and standing() shows
	 * what ranks announced before. Returns false if the barrier failed.
	 */
	bool (*barrier)(const struct nb_record *r);
	/*
	 * Get the state of rank 0..nranks-1. The state is FREE if there is no
	 * such rank.
	 */
	void (*standing)(const struct nb_record *r, uint32_t rank,
			 struct nb_standing *out);

	/* Tell coordinators that a rank's wait has changed. */
	void (*publish)(const struct nb_record *r);
	/* Let other threads run. @turn counts the calls during one wait. */
	void (*wait)(const struct nb_record *r, unsigned turn);
};

struct nb_record {
	const struct nb_record_ops *ops;
	uint32_t nranks; /* ranks that standing() may be asked for */
	/* the job segment of this host */
	const struct nb_segment *seg;
	struct nb_seg_comm *comm;
	struct nb_seg_record *word; /* the decision record in @comm */
	/* some rank relies on the coordinator's memory barrier */
	bool membarrier;
	void *store; /* data of a back end other than the segment */
};

/*
 * nb_record_here - describe the record of @comm in this host's segment
 * @seg, @comm: borrowed while the result is used
 * @membarrier: false if every rank executes a memory fence in each decision
 */
struct nb_record nb_record_here(const struct nb_segment *seg,
				struct nb_seg_comm *comm, bool membarrier);
/*
 * Describe the record for a rank, which needs neither the barrier nor the state
 * of other ranks.
 */
struct nb_record nb_record_word(struct nb_seg_record *word);

#endif
