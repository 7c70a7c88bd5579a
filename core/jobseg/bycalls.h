// SPDX-License-Identifier: MIT
#ifndef NB_JOBSEG_BYCALLS_H
#define NB_JOBSEG_BYCALLS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/jobseg/format.h"

/*
 * Two ranks whose clock counts calls of NCCL's API (NB_CLOCK_CALLS): what they
 * decided between one call and the next is held against each other, however
 * often the tuner was asked there.
 */
struct nb_called {
	const struct nb_packed *ring;
	const uint32_t *clock; /* NB_RING: low bits of the calls before each */
	uint64_t decisions;
};

struct nb_bycalls {
	bool compared;	/* they have calls in common */
	bool differ;	/* the same was asked and answered differently, or... */
	bool questions; /* ...something else was asked */
	uint64_t seq[2];    /* of either rank: the decisions that differ */
	uint32_t extra[2];  /* times that one was asked and the other was not */
	uint64_t extra_seq; /* the first of them, as its rank counts */
};

/* The calls behind the latest of @r's decisions: low 32 bits. */
uint32_t nb_called_last(const struct nb_called *r);
/* Ranks may decide meanwhile: what is overwritten is not compared. */
void nb_bycalls(const struct nb_called *a, const struct nb_called *b,
		struct nb_bycalls *out);

#endif
