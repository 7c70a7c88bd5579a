// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_RUNTIME_CLOCK_H
#define NB_PLUGIN_RUNTIME_CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

/*
 * CLOCK_MONOTONIC in nanoseconds, for events. It is computed from the
 * processor's counter if the counter's rate is constant (x86-64 with an
 * invariant time stamp counter, arm64), else it is read from the system.
 * nb_clock_init measures the rate for two milliseconds, and nb_clock_refine
 * refines it.
 */
struct nb_clock {
	uint64_t ticks0, ns0;
	/*
	 * ns = ticks * mult / 2^32. 0: use the system's clock, the other fields
	 * may not be set. Accessed atomically.
	 */
	uint64_t mult;
};
extern struct nb_clock nb_clock;

/*
 * Measure the counter's rate at the first call. It sleeps for two milliseconds,
 * or for up to ten if the thread loses the processor each time. Any thread may
 * call it, and its clock is the system's while another thread measures.
 */
void nb_clock_init(void);
/*
 * Refine the rate. The clock moves by at most NB_CLOCK_STEP_NS, or by half of
 * its error if that is more. It may move back.
 */
enum { NB_CLOCK_STEP_NS = 20000 };
void nb_clock_refine(void);
/*
 * The clock of all waits and time limits, CLOCK_MONOTONIC in nanoseconds, and
 * the sleep that goes with it. Tests put their own in the place of both
 * (ld --wrap), so waits use no other clock and no other sleep
 * (lint/clocks.awk).
 */
uint64_t nb_clock_system(void);
void nb_clock_sleep(uint64_t ns);
/* Returns the processor time of this thread in nanoseconds. */
uint64_t nb_clock_thread(void);

static inline uint64_t nb_clock_ticks(void)
{
#if defined(__x86_64__)
	return __rdtsc();
#elif defined(__aarch64__)
	uint64_t t;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(t));
	return t;
#else
	return 0;
#endif
}

static inline uint64_t nb_clock_of(const struct nb_clock *c)
{
	uint64_t mult = __atomic_load_n(&c->mult, __ATOMIC_ACQUIRE);

	if (!mult)
		return nb_clock_system();
	__extension__ typedef unsigned __int128 wide;
	return c->ns0 + (uint64_t)(((wide)(nb_clock_ticks() - c->ticks0) * mult) >> 32);
}

static inline uint64_t nb_clock_ns(void)
{
	return nb_clock_of(&nb_clock);
}

#endif
