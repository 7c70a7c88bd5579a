// SPDX-License-Identifier: MIT
// The events' clock: reading the system's takes as long as all the rest of an
// event, so the processor's counter is read and scaled.
#include "plugin/clock.h"

#include <time.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

struct nb_clock nb_clock;

uint64_t nb_clock_system(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* Does the counter run at one speed, whatever the processor does? */
static bool steady(void)
{
#if defined(__x86_64__)
	unsigned a, b, c, d;

	return __get_cpuid(0x80000007, &a, &b, &c, &d) && (d >> 8 & 1);
#elif defined(__aarch64__)
	return true;
#else
	return false;
#endif
}

static void set_rate(void)
{
	uint64_t ns = nb_clock_system() - nb_clock.ns0;
	uint64_t ticks = nb_clock_ticks() - nb_clock.ticks0;

	if (ticks && ns)
		__atomic_store_n(
			&nb_clock.mult,
			(uint64_t)((double)ns / (double)ticks * 4294967296.0),
			__ATOMIC_RELEASE);
}

void nb_clock_init(void)
{
	struct timespec nap = { 0, 2000000 };

	if (nb_clock.ns0 || !steady())
		return;
	nb_clock.ns0 = nb_clock_system();
	nb_clock.ticks0 = nb_clock_ticks();
	nanosleep(&nap, NULL);
	set_rate();
}

void nb_clock_turn(void)
{
	if (__atomic_load_n(&nb_clock.mult, __ATOMIC_ACQUIRE))
		set_rate();
}
