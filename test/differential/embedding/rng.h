// SPDX-License-Identifier: MIT
#ifndef NB_TEST_RNG_H
#define NB_TEST_RNG_H

#include <stdint.h>

/* splitmix64: any seed will do, equal seeds give equal sequences. */
struct rng {
	uint64_t s;
};

static inline uint64_t rng_next(struct rng *r)
{
	uint64_t z = (r->s += 0x9e3779b97f4a7c15ull);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

/* 0 to n - 1 */
static inline uint32_t rng_below(struct rng *r, uint32_t n)
{
	return (uint32_t)((rng_next(r) >> 32) * n >> 32);
}

static inline int rng_percent(struct rng *r, uint32_t p)
{
	return rng_below(r, 100) < p;
}

static inline int32_t rng_between(struct rng *r, int32_t lo, int32_t hi)
{
	return lo + (int32_t)rng_below(r, (uint32_t)(hi - lo) + 1);
}

#endif
