// SPDX-License-Identifier: MIT
/*
 * bpf_spin_lock and bpf_spin_unlock. A lock is a word of 4 bytes in a map's
 * value: 0 if free, else a number that identifies the holder. Without
 * contention each call is one compare-and-swap, which machine code does
 * inline.
 *
 * A decision must never hang on a lock. A waiter takes over the lock from a
 * holder that keeps it for HOLDER_NS (a stopped thread, or one lost by a
 * fork), or after waiting TOTAL_NS in all. The holder's own unlock then
 * changes nothing. Takeovers are counted and recorded in the policy's trace
 * ring.
 */
#include "core/exec/run/spin.h"

#include <sched.h>

#include "core/base/clock.h"
#include "core/exec/run/bodies.h"
#include "core/exec/run/trace.h"
#include "core/map/ops.h"

#define HOLDER_NS UINT64_C(100000000)
#define TOTAL_NS UINT64_C(1000000000)

/* About 10 us of spinning. A holder that takes longer was preempted, so the
 * waiter yields to it. */
enum { SPINS = 256 };

static uint64_t takeovers;

uint64_t nb_spin_takeovers(void)
{
	return __atomic_load_n(&takeovers, __ATOMIC_RELAXED);
}

/* Replace *@seen, the expected word, by @to. On failure *@seen gets the
 * current word. */
static bool swap(uint32_t *word, uint32_t *seen, uint32_t to)
{
	return __atomic_compare_exchange_n(word, seen, to, false,
					   __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

static void note_takeover(struct nb_run *run)
{
	static const char text[] =
		"bpf_spin_lock: a program held the lock too long, so the next one took it";

	__atomic_fetch_add(&takeovers, 1, __ATOMIC_RELAXED);
	if (run->trace)
		nb_trace_put(run->trace, text, sizeof(text) - 1);
}

/* Wait until the lock is free or its holder has exceeded its time. */
static void wait(struct nb_run *run, uint32_t *word, uint32_t mine)
{
	uint64_t start = nb_now_ns(), since = start, now;
	uint32_t holder = __atomic_load_n(word, __ATOMIC_RELAXED), seen;

	for (;;) {
		for (int i = 0; i < SPINS; i++) {
			seen = 0;
			if (swap(word, &seen, mine))
				return;
			nb_cpu_relax();
		}
		now = nb_now_ns();
		if (seen != holder) {
			holder = seen;
			since = now;
		}
		if ((now - since >= HOLDER_NS || now - start >= TOTAL_NS) &&
		    swap(word, &seen, mine)) {
			note_takeover(run);
			return;
		}
		sched_yield();
	}
}

uint64_t helper_spin_lock(NB_HELPER_ARGS)
{
	uint32_t *word = nb_body_ptr(r1), mine = nb_spin_number(run), seen = 0;

	if (!swap(word, &seen, mine))
		wait(run, word, mine);
	return 0;
}

uint64_t helper_spin_unlock(NB_HELPER_ARGS)
{
	uint32_t *word = nb_body_ptr(r1), mine = nb_spin_number(run);

	__atomic_compare_exchange_n(word, &mine, 0, false, __ATOMIC_RELEASE,
				    __ATOMIC_RELAXED);
	return 0;
}
