// SPDX-License-Identifier: MIT
#include "plugin/runtime/clock.h"

#include <time.h>

static uint64_t clock_read(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

uint64_t nb_clock_system(void)
{
	return clock_read(CLOCK_MONOTONIC);
}

uint64_t nb_clock_thread(void)
{
	return clock_read(CLOCK_THREAD_CPUTIME_ID);
}

void nb_clock_sleep(uint64_t ns)
{
	struct timespec t = { (time_t)(ns / 1000000000), (long)(ns % 1000000000) };

	nanosleep(&t, NULL);
}
