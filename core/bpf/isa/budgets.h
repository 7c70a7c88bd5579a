// SPDX-License-Identifier: MIT
#ifndef NB_ISA_BUDGETS_H
#define NB_ISA_BUDGETS_H

#include <stdint.h>

/*
 * Limits of one run, used by the verifier and by both engines. A test build
 * makes all of them small (-DNB_SMALL_BUDGETS), so that programs of a few
 * instructions use them up.
 */
enum {
#ifdef NB_SMALL_BUDGETS
	NB_RUN_BUDGET = 1 << 9,
	NB_MAX_ITERATIONS = 8,
	NB_LOOP_MAX = 4,
	NB_MAY_GOTO_PASSES = 8,
	NB_MAX_COUNTED_ITERS = 2,
	NB_MAX_COUNTED_RANGE = 4,
#else
	/* Instructions in all iterations of one kind: may_goto passes,
	 * counted iterations, or steps of the iterators below. */
	NB_RUN_BUDGET = 1 << 25,
	/* Iterations of helpers' loops plus iterator steps in a run. */
	NB_MAX_ITERATIONS = 1 << 25,
	/* Iterations of one helper's loop, or steps of one iterator (Linux:
	 * BPF_MAX_LOOPS). */
	NB_LOOP_MAX = 1 << 23,
	/* Passes of may_goto in a run (Linux: BPF_MAX_LOOPS). */
	NB_MAY_GOTO_PASSES = 1 << 23,
	/* The first 64 iterators of a run always reach their end if their
	 * range has at most 4,096 numbers; others may end early. */
	NB_MAX_COUNTED_ITERS = 64,
	NB_MAX_COUNTED_RANGE = 4096,
#endif
	NB_MAX_ITERATION_INSNS = 1000000
};

/*
 * The bound on a run. An iteration ends where the run time counts: at
 * a may_goto, after a callback, at an iterator step, or at the program's
 * end. The verifier knows how many instructions the longest iteration has.
 * For each kind of iteration a run may make NB_RUN_BUDGET divided by that
 * length, so a run ends within NB_RUN_MAX instructions. This limit makes one
 * program safe. The time of a decision has a smaller limit, for all programs
 * on a hook together (core/bpf/generation/run_limit.h).
 */
enum { NB_RUN_MAX = 3 * NB_RUN_BUDGET + NB_MAX_ITERATION_INSNS };

/* Return how many iterations of @iteration instructions a run may make, at most
 * @most. */
static inline uint32_t nb_loop_limit(uint32_t iteration, uint32_t most)
{
	uint32_t n = iteration ? (uint32_t)NB_RUN_BUDGET / iteration : most;

	return n < most ? n : most;
}

#endif
