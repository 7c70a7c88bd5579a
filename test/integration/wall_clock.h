// SPDX-License-Identifier: MIT
/*
 * For a library of LD_PRELOAD: the wall clock of the process is wrong by
 * wall_clock_error() seconds, which the includer defines. The monotonic clock
 * stays right.
 */
#ifndef NB_TEST_WALL_CLOCK_H
#define NB_TEST_WALL_CLOCK_H

#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static time_t wall_clock_error(void);

int clock_gettime(clockid_t id, struct timespec *t)
{
	int rc = (int)syscall(SYS_clock_gettime, id, t);

	if (!rc && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE))
		t->tv_sec += wall_clock_error();
	return rc;
}

int gettimeofday(struct timeval *restrict v, void *restrict z)
{
	struct timespec t;

	(void)z;
	clock_gettime(CLOCK_REALTIME, &t);
	v->tv_sec = t.tv_sec;
	v->tv_usec = t.tv_nsec / 1000;
	return 0;
}

time_t time(time_t *out)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	if (out)
		*out = t.tv_sec;
	return t.tv_sec;
}

#endif
