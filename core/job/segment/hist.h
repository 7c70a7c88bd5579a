// SPDX-License-Identifier: MIT
#ifndef NB_JOB_SEGMENT_HIST_H
#define NB_JOB_SEGMENT_HIST_H

#include <stddef.h>
#include <stdint.h>

/*
 * Log-linear histograms of nanoseconds. Each value below 8 has its own
 * bucket. Above that, each power of two has 8 equal buckets. The middle of
 * a bucket differs from each value in it by at most 1/16 (6.25 %). Values
 * from 2^40 ns (18 minutes) on are in the last bucket.
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

/* Return the least value of bucket @i. With @i NB_HIST_BUCKETS, return the
 * end of the last bucket. */
uint64_t nb_hist_from(uint32_t i);
/* Return the middle of bucket @i. */
uint64_t nb_hist_middle(uint32_t i);
/* Return the middle of the bucket with quantile @q (0 to 1); 0 if the
 * histogram is empty. */
uint64_t nb_hist_quantile(const uint64_t hist[NB_HIST_BUCKETS], double q);

#endif
