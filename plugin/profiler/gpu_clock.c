// SPDX-License-Identifier: MIT
/*
 * Measures the length of a GPU clock's tick. The CPU sees a kernel's start late,
 * by microseconds, or by milliseconds if the thread was not running. The length
 * is therefore one of a few that GPUs have, not the measured ratio.
 */
#include "plugin/profiler/gpu_clock.h"

/* Shortest time between the two starts of a measurement. */
static const uint64_t MEASURE_NS = 50000000;
/* This many measurements in a row must have one result. */
enum { AGREED = 3 };
/* The lengths of ticks, in ns. */
static const uint64_t lengths[] = { 1, 10, 40 };

/* the last result in this process; accessed atomically */
static uint64_t measured;

/*
 * Returns the length that makes @ticks last @ns, or 0 if none does: each may
 * miss by half, and the ranges of two lengths do not meet.
 */
static uint64_t length_of(uint64_t ticks, uint64_t ns)
{
	if (!ticks || ticks > 2 * ns)
		return 0;
	for (unsigned i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		uint64_t t = ticks * lengths[i];

		if (2 * t <= 3 * ns && 2 * ns <= 3 * t)
			return lengths[i];
	}
	return 0;
}

void nb_gpu_clock_reset(struct nb_gpu_clock *c, bool ticks)
{
	SET(c->from_ns, 0);
	SET(c->like, 0);
	SET(c->agreed, 0);
	SET(c->tick, ticks ? GET(measured) : 1);
	SET(c->due_ns, ticks ? 0 : UINT64_MAX);
}

void nb_gpu_clock_measure(struct nb_gpu_clock *c, uint64_t ticks, uint64_t now)
{
	uint64_t from_ns = GET(c->from_ns), from = GET(c->from_ticks), like;

	SET(c->due_ns, now + MEASURE_NS);
	SET(c->from_ns, now);
	SET(c->from_ticks, ticks);
	if (!from_ns)
		return;
	like = ticks > from ? length_of(ticks - from, now - from_ns) : 0;
	SET(c->agreed, like && like == GET(c->like) ? GET(c->agreed) + 1 : 1);
	SET(c->like, like);
	if (!like || GET(c->agreed) < AGREED)
		return;
	SET(c->tick, like);
	SET(measured, like);
}

uint64_t nb_gpu_clock_measured(void)
{
	return GET(measured);
}
