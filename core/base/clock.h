// SPDX-License-Identifier: MIT
#ifndef NB_BASE_CLOCK_H
#define NB_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

/* Return CLOCK_MONOTONIC in nanoseconds. */
static inline uint64_t nb_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

#endif
