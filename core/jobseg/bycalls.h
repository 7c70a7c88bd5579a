// SPDX-License-Identifier: MIT
#ifndef NB_JOBSEG_BYCALLS_H
#define NB_JOBSEG_BYCALLS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/jobseg/format.h"

/*
 * Comparison of two ranks whose clock counts calls of NCCL's API
 * (NB_CLOCK_CALLS): the decisions between one call and the next are compared as
 * a set, however often the tuner was asked there.
 */

/* A rank's ring and its position in it. */
struct nb_track {
	const struct nb_packed *ring; /* NULL: none */
	const uint32_t *clock; /* NB_RING: low bits of the calls before each */
	uint64_t decisions, hash;
};

/* The part of a decision that all ranks must have alike. */
struct nb_agreed {
	uint64_t bytes, rest;
};

static inline bool nb_same_agreed(const struct nb_agreed *a,
				  const struct nb_agreed *b)
{
	return a->bytes == b->bytes && a->rest == b->rest;
}

/* Was the tuner asked the same: bytes and collective? */
static inline bool nb_same_question(const struct nb_agreed *a,
				    const struct nb_agreed *b)
{
	const uint64_t coll = UINT64_C(15) << NB_PACKED_AT_COLL;

	return a->bytes == b->bytes && !((a->rest ^ b->rest) & coll);
}

/* Read decision @k; false: it is overwritten, or being written. */
bool nb_track_read(const struct nb_track *t, uint64_t k, struct nb_agreed *out);

struct nb_bycalls {
	bool compared;	    /* the two have a call in common */
	bool differ;	    /* the same question had different answers, or... */
	bool questions;	    /* ...the questions differ */
	uint64_t seq[2];    /* the decisions that differ, of @a and @b */
	uint32_t extra[2];  /* questions that the other rank did not have */
	uint64_t extra_seq; /* the first of these, as its rank counts */
};

/* Low 32 bits of the calls before @t's latest decision; 0: no decision. */
uint32_t nb_track_calls(const struct nb_track *t);
/* Both have a ring. Ranks may decide meanwhile: overwritten decisions are not
 * compared. */
void nb_bycalls(const struct nb_track *a, const struct nb_track *b,
		struct nb_bycalls *out);

#endif
