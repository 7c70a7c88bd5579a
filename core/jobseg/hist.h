// SPDX-License-Identifier: MIT
#ifndef NB_JOBSEG_HIST_H
#define NB_JOBSEG_HIST_H

#include <stddef.h>
#include <stdint.h>

/*
 * Log-linear histograms of nanoseconds: below 8 each value has a bucket of its
 * own, above that each power of two is cut into 8 equal parts. The middle of a
 * bucket is at most 1/16 (6.25 %) off any value in it. Values from 2^40 ns
 * (18 minutes) on are in the last bucket.
 */
enum { NB_HIST_PARTS = 8, NB_HIST_TOP = 40, NB_HIST_BUCKETS = 304 };

static inline uint32_t nb_hist_index(uint64_t v)
{
	uint32_t e;

	if (v < NB_HIST_PARTS)
		return (uint32_t)v;
	e = 63 - (uint32_t)__builtin_clzll(v);
	if (e >= NB_HIST_TOP)
		return NB_HIST_BUCKETS - 1;
	return (e - 2) * NB_HIST_PARTS + (uint32_t)(v >> (e - 3) & 7);
}

/* The least value of bucket @i; that of the one behind it where @i is the
 * number of buckets. */
uint64_t nb_hist_from(uint32_t i);
/* The middle of bucket @i. */
uint64_t nb_hist_middle(uint32_t i);
/*
 * nb_hist_quantile - the middle of the bucket that holds the value below which
 * the part @q (0 to 1) of all lie; 0 where there are none
 */
uint64_t nb_hist_quantile(const uint64_t hist[NB_HIST_BUCKETS], double q);

#endif
