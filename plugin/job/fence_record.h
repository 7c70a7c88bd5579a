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

/* The state of a rank as known here: possibly old, never ahead of the rank. */
struct nb_standing {
	uint64_t announced;  /* decisions that it has begun */
	uint64_t waiting;    /* the ARMED word that it waits for, or 0 */
	uint32_t generation; /* it decides with */
	uint32_t state;	     /* enum nb_seg_slot_state */
};

/* Any thread of any rank or coordinator may call them, at once. */
struct nb_record_ops {
	/* Load the word that all hosts share, and compare-and-swap it. */
	uint64_t (*load)(const struct nb_record *r);
	bool (*swap)(const struct nb_record *r, uint64_t from, uint64_t to);

	/* The word that an abort restores. It is set before the arming, and a
	 * reader of the arming sees it or a later one. */
	uint64_t (*fallback)(const struct nb_record *r);
	void (*set_fallback)(const struct nb_record *r, uint64_t word);

	/*
	 * After it returns, each rank's decision sees the word of the time of
	 * the call, or a later one, and standing() shows what ranks announced
	 * before. False: the barrier failed.
	 */
	bool (*barrier)(const struct nb_record *r);
	/* The state of rank 0..nranks-1; FREE: no such rank. */
	void (*standing)(const struct nb_record *r, uint32_t rank,
			 struct nb_standing *out);

	/* A rank has changed its wait: tell coordinators. */
	void (*publish)(const struct nb_record *r);
	/* Let other threads run; @turn counts the calls of one wait. */
	void (*wait)(const struct nb_record *r, unsigned turn);
};

struct nb_record {
	const struct nb_record_ops *ops;
	uint32_t nranks; /* standings there are */
	/* this host's segment */
	const struct nb_segment *seg;
	struct nb_seg_comm *comm;
	struct nb_seg_record *word; /* comm's record */
	bool membarrier; /* a rank relies on the coordinator's barrier */
	void *store;	 /* data of another back end */
};

/*
 * nb_record_here - the record of @comm in this host's segment
 * @seg, @comm: borrowed for as long as the result is used
 * @membarrier: false: every rank has a full fence in each decision
 */
struct nb_record nb_record_here(const struct nb_segment *seg,
				struct nb_seg_comm *comm, bool membarrier);
/* The same for a rank, which needs neither the barrier nor other ranks' state.
 * */
struct nb_record nb_record_word(struct nb_seg_record *word);

#endif
