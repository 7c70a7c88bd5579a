// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_RUNTIME_WALL_CLOCK_H
#define NB_PLUGIN_RUNTIME_WALL_CLOCK_H

#include <stdint.h>
#include <time.h>

/*
 * The wall clock, for people alone: when something was done, as `policy
 * history` and `controller status` show it. It may jump; no wait and no
 * decision goes by it (test/integration/clock_jumps.t).
 */
static inline uint64_t nb_wall_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

#endif
