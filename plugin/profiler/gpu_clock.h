// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_PROFILER_GPU_CLOCK_H
#define NB_PLUGIN_PROFILER_GPU_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "plugin/runtime/hot.h"
#include "plugin/runtime/relaxed.h"

/*
 * The clock with which a GPU stamps its kernels (pTimer). NCCL's stamps are
 * nanoseconds. RCCL's are ticks of the GPU's wall clock, whose rate its
 * interface does not tell: 10 ns on gfx94x, 40 ns on older GPUs, and 1 ns if
 * RCCL should convert them. So the length of a tick is measured: starts of
 * kernels are compared with the CPU's clock when NCCL reports them.
 *
 * NCCL's threads use a clock without a lock. If two of them report kernels of
 * one rank at once, a measurement may be wrong, but several must agree.
 */
struct nb_gpu_clock {
	/* ns of a tick; 0: not known yet; accessed atomically */
	uint64_t tick;
	/* when the CPU measures next; UINT64_MAX: never; accessed atomically */
	uint64_t due_ns;
	/* start of the measurement by both clocks; accessed atomically */
	uint64_t from_ns, from_ticks;
	/* result of the last measurements, and how many agreed; accessed atomically */
	uint64_t like, agreed;
};

/*
 * Start with NCCL's nanoseconds, or, if @ticks is true, with the tick that was
 * last measured in this process, if there is one.
 */
void nb_gpu_clock_reset(struct nb_gpu_clock *c, bool ticks);
/* Compare both clocks: a kernel started at @ticks, which the CPU saw at @now. */
void nb_gpu_clock_measure(struct nb_gpu_clock *c, uint64_t ticks, uint64_t now);
/* Returns the last tick that was measured in this process, in ns, or 0. Any thread. */
uint64_t nb_gpu_clock_measured(void);

/*
 * Returns the length of a tick in ns, or 0 if it is not known yet. A kernel
 * started at @ticks, which the CPU saw at @now.
 */
NB_INLINE uint64_t nb_gpu_clock_tick(struct nb_gpu_clock *c, uint64_t ticks, uint64_t now)
{
	if (__builtin_expect(now >= GET(c->due_ns), 0))
		nb_gpu_clock_measure(c, ticks, now);
	return GET(c->tick);
}

#endif
