// SPDX-License-Identifier: MIT
#ifndef NB_GENERATION_COUNT_H
#define NB_GENERATION_COUNT_H

#include <stdint.h>

#include "core/bpf/generation/gen.h"

/* Upper bounds of the classes of durations in ns; the last class has no
 * bound. */
extern const uint32_t nb_gen_times_ns[NB_GEN_TIMES - 1];

/*
 * Counters of one communicator. Only its thread writes them, with relaxed
 * stores, so counting costs a decision nothing. All programs of a generation
 * have the same runs.
 */
struct nb_gen_count {
	uint64_t runs;
	uint64_t overrides[NB_GEN_MAX_PROGS];
	/* The members from here on are rarely written. */
	uint64_t refused[NB_GEN_MAX_PROGS];
	uint64_t samples;
	int64_t time_ns[NB_GEN_MAX_PROGS];
	struct nb_gen_times times[NB_GEN_MAX_PROGS];
};

/* Add one to a counter with one writer and many readers. On x86-64 this is
 * one instruction. */
static inline void nb_gen_bump(uint64_t *n)
{
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
	__asm__("addq $1, %0" : "+m"(*n) : : "cc");
#else
	__atomic_store_n(n, __atomic_load_n(n, __ATOMIC_RELAXED) + 1, __ATOMIC_RELAXED);
#endif
}

/* Add the counters of program @i to @sum. Any thread. */
void nb_gen_count_of(const struct nb_gen_count *count, uint32_t i, struct nb_gen_sum *sum);
void nb_gen_sum_add(struct nb_gen_sum *to, const struct nb_gen_sum *more);
void nb_gen_times_add(struct nb_gen_times *to, const struct nb_gen_times *more);

/* Move a communicator's counters to the generation's. The communicator's own
 * thread, or any thread after its last decision: the counters have one writer. */
void nb_gen_count_add(struct nb_gen *g, struct nb_gen_count *count);

#endif
