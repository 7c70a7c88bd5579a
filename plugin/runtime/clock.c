// SPDX-License-Identifier: MIT
/*
 * The clock for events. Reading the system's clock costs as much as the rest of
 * an event, so events read the processor's counter and scale it.
 */
#include "plugin/runtime/clock.h"

#include <time.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

enum { MOST_APART_NS = 5000, FIRST_APART_NS = 1000, FIRST_TRIES = 5 };

struct nb_clock nb_clock;

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

/*
 * Returns true if the counter's rate does not depend on the processor's
 * frequency.
 */
static bool counter_is_steady(void)
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

/*
 * Read both clocks at nearly the same time. The thread may lose the processor
 * between the two reads, so the closest of eight pairs counts. Returns the
 * ticks between the reads of that pair.
 */
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

/* Returns the value of nb_clock.mult for @ticks in @ns. */
static double rate_of(uint64_t ns, uint64_t ticks)
{
	return (double)ns / (double)ticks * 4294967296.0;
}

/*
 * Set a new rate. A new rate changes all times since the start, so a badly
 * measured rate is dropped, and a better one is approached in small steps.
 * Events in progress are then still measured well. If the error is larger,
 * because NTP slows the system's clock or the first rate was wrong, each step
 * halves the error; otherwise the clock might never catch up.
 */
static void set_rate(void)
{
	const uint64_t was = __atomic_load_n(&nb_clock.mult, __ATOMIC_RELAXED);
	uint64_t ns, ticks, apart = read_both(&ns, &ticks);
	double mult, step, half;

	ns -= nb_clock.ns0;
	ticks -= nb_clock.ticks0;
	if (!ticks || !ns || (double)apart * (double)was / 4294967296.0 > MOST_APART_NS)
		return;
	mult = rate_of(ns, ticks);
	step = (double)was * NB_CLOCK_STEP_NS / (double)ns;
	half = (mult > (double)was ? mult - (double)was : (double)was - mult) / 2;
	if (step < half)
		step = half;
	if (mult > (double)was + step)
		mult = (double)was + step;
	if (mult < (double)was - step)
		mult = (double)was - step;
	__atomic_store_n(&nb_clock.mult, (uint64_t)mult, __ATOMIC_RELEASE);
}

/*
 * Measure a rough rate for two milliseconds. Use the first interval with
 * precise ends, or the most precise of FIRST_TRIES.
 */
void nb_clock_init(void)
{
	static bool begun; /* accessed atomically */
	double mult = 0, least = 0;

	if (__atomic_exchange_n(&begun, true, __ATOMIC_RELAXED) || !counter_is_steady())
		return;
	for (int i = 0; i < FIRST_TRIES; i++) {
		uint64_t ns0, ticks0, ns, ticks;
		uint64_t apart = read_both(&ns0, &ticks0);
		double now, off;

		nb_clock_sleep(2000000);
		apart += read_both(&ns, &ticks);
		if (ns <= ns0 || ticks <= ticks0)
			continue;
		now = rate_of(ns - ns0, ticks - ticks0);
		off = (double)apart * now / 4294967296.0;
		if (mult > 0 && off >= least)
			continue;
		mult = now;
		least = off;
		nb_clock.ns0 = ns0;
		nb_clock.ticks0 = ticks0;
		if (off <= FIRST_APART_NS)
			break;
	}
	__atomic_store_n(&nb_clock.mult, (uint64_t)mult, __ATOMIC_RELEASE);
}

void nb_clock_refine(void)
{
	if (__atomic_load_n(&nb_clock.mult, __ATOMIC_ACQUIRE))
		set_rate();
}
