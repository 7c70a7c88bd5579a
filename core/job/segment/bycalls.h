// SPDX-License-Identifier: MIT
#ifndef NB_JOB_SEGMENT_BYCALLS_H
#define NB_JOB_SEGMENT_BYCALLS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/job/segment/format.h"

/*
 * Comparison of two ranks whose clock counts calls of NCCL's API
 * (NB_CLOCK_CALLS): the decisions between one call and the next are compared as
 * a set, however often the tuner was asked there.
 */

/* A rank's ring and its position in it. */
struct nb_track {
	/* The rank's ring; NULL if it has none. */
	const struct nb_packed *ring;
	/* For each of NB_RING decisions: low bits of the number of calls
	 * before it. */
	const uint32_t *clock;
	const uint64_t *chunk; /* For each decision: the word of its chunk size. */
	uint64_t decisions, hash;
};

/* The part of a decision that must be the same on all ranks, and NCCL's offer,
 * of which only the first part depends. */
struct nb_agreed {
	uint64_t bytes, rest;
	uint32_t offered; /* Combinations that NCCL offered; 0: none or unknown. */
	uint32_t chunk_size;
};

static inline bool nb_same_agreed(const struct nb_agreed *a, const struct nb_agreed *b)
{
	return a->bytes == b->bytes && a->rest == b->rest && a->chunk_size == b->chunk_size;
}

/* Was the tuner asked about the same bytes and collective? */
static inline bool nb_same_question(const struct nb_agreed *a, const struct nb_agreed *b)
{
	const uint64_t coll = UINT64_C(15) << NB_PACKED_AT_COLL;

	return a->bytes == b->bytes && !((a->rest ^ b->rest) & coll);
}

/* Did NCCL offer the same combinations, as far as both offers are known? */
static inline bool nb_same_offer(const struct nb_agreed *a, const struct nb_agreed *b)
{
	return a->offered == b->offered || !a->offered || !b->offered;
}

/*
 * Did NCCL ask without an offer? 2.31 and later ask so on any of the ranks, when
 * they look for a symmetric kernel. No collective follows from the answer.
 */
static inline bool nb_offered_nothing(const struct nb_agreed *a)
{
	return !a->offered && (a->rest >> NB_PACKED_AT_INDEX & NB_PACKED_ENTRY) == NB_PACKED_ENTRY;
}

/* Read decision @k; returns false if it is overwritten, or being written. */
bool nb_track_read(const struct nb_track *t, uint64_t k, struct nb_agreed *out);

struct nb_bycalls {
	bool compared;	/* The two ranks have a call in common. */
	bool differ;	/* The same question had different answers. */
	bool questions; /* The questions differ. */
	/* Numbers of the decisions that differ, of @a and @b. */
	uint64_t seq[2];
	/* The same question had different offers, in decisions offer_seq of @a
	 * and @b. */
	bool offers;
	uint64_t offer_seq[2];
	/* Number of questions that the other rank did not have. */
	uint32_t extra[2];
	/* Number of the first extra question, as its rank counts. */
	uint64_t extra_seq;
};

/* Return the low 32 bits of the number of calls before @t's latest
 * decision; 0 if there is no decision. */
uint32_t nb_track_calls(const struct nb_track *t);
/* Compare two ranks that both have a ring. Ranks may decide meanwhile:
 * overwritten decisions are not compared. */
void nb_bycalls(const struct nb_track *a, const struct nb_track *b, struct nb_bycalls *out);

#endif
