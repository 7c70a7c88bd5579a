// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_RUNTIME_WALL_CLOCK_H
#define NB_PLUGIN_RUNTIME_WALL_CLOCK_H

#include <stdint.h>
#include <time.h>

/*
 * The wall clock, for times that people read in `policy history` and
 * `controller status`. It may jump, so no wait and no decision depends on it
 * (test/integration/clock_jumps.t).
 */
static inline uint64_t nb_wall_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

#endif
