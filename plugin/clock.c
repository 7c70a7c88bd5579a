// SPDX-License-Identifier: MIT
// The events' clock: reading the system's takes as long as all the rest of an
// event, so the processor's counter is read and scaled.
#include "plugin/clock.h"

#include <time.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

enum { MOST_APART_NS = 5000 };

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

/* Both clocks at one moment, as well as can be told: who loses the processor
 * between the two reads them apart, so the closest of several counts. Ticks
 * that they may be apart. */
static uint64_t read_both(uint64_t *ns, uint64_t *ticks)
{
	uint64_t least = UINT64_MAX;

	*ns = nb_clock_system();
	*ticks = nb_clock_ticks();
	for (int i = 0; i < 8; i++) {
		uint64_t before = nb_clock_ticks(), at = nb_clock_system();
		uint64_t apart = nb_clock_ticks() - before;

		if (apart >= least)
			continue;
		least = apart;
		*ns = at;
		*ticks = before + apart / 2;
	}
	return least;
}

/* A rate moves all times since the beginning: one that was taken badly is left,
 * and one that is better comes in steps. */
static void set_rate(void)
{
	const uint64_t was = __atomic_load_n(&nb_clock.mult, __ATOMIC_RELAXED);
	uint64_t ns, ticks, apart = read_both(&ns, &ticks);
	double mult, step;

	ns -= nb_clock.ns0;
	ticks -= nb_clock.ticks0;
	if (!ticks || !ns)
		return;
	mult = (double)ns / (double)ticks * 4294967296.0;
	if (was && (double)apart * (double)was / 4294967296.0 > MOST_APART_NS)
		return;
	step = was ? (double)was * NB_CLOCK_STEP_NS / (double)ns : mult;
	if (was && mult > (double)was + step)
		mult = (double)was + step;
	if (was && mult < (double)was - step)
		mult = (double)was - step;
	__atomic_store_n(&nb_clock.mult, (uint64_t)mult, __ATOMIC_RELEASE);
}

void nb_clock_init(void)
{
	struct timespec nap = { 0, 2000000 };

	if (nb_clock.ns0 || !steady())
		return;
	read_both(&nb_clock.ns0, &nb_clock.ticks0);
	nanosleep(&nap, NULL);
	set_rate();
}

void nb_clock_turn(void)
{
	if (__atomic_load_n(&nb_clock.mult, __ATOMIC_ACQUIRE))
		set_rate();
}
