// SPDX-License-Identifier: MIT
#ifndef NB_ISA_BUDGETS_H
#define NB_ISA_BUDGETS_H

#include <stdbool.h>
#include <stddef.h>
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

enum { NB_NO_LOOP = UINT32_MAX >> 1 };

/* The loop that costs most in a run. */
struct nb_loop_report {
	/* Slot where the loop begins; NB_NO_LOOP if there is none. */
	uint32_t pc;
	/* Iterations in the whole run; 0 if they are not constant. */
	uint32_t iterations;
	/* Instructions of one iteration without inner loops. */
	uint32_t length;
	/* Percentage of the cost of all loops and the first path. */
	uint32_t share;
};

/* Bounds on the runs of an accepted program (NB_RUN_BUDGET). */
struct nb_run_bounds {
	/* @iteration: instructions of the longest iteration, not 0.
	 * @first: instructions before the first iteration ends.
	 * @iter_steps: steps that counted iterators must be able to take. */
	uint32_t iteration, first, iter_steps;
	/* @iterations: the verdict requires that loops can make this many
	 * iterations. @constant_iterations: iterations of loops whose number is
	 * constant; nested loops multiply. */
	uint32_t iterations, constant_iterations;
	/* The program has may_goto loops (@passes) or loops of helpers
	 * (@loops). */
	bool passes, loops;
	/* Some path reads a field of the context whose unit is ns. */
	bool reads_time;
	struct nb_loop_report loop;
};

/* The cost of a verification. */
struct nb_verify_stats {
	uint32_t insns_walked, states_kept, states_peak;
	/* Work of all walks: instructions, and other work in units of one
	 * instruction. */
	uint32_t work;
	uint32_t stack_depth; /* Bytes of stack of the deepest call chain. */
	uint64_t time_ns;
	size_t memory; /* Size of the arena in bytes. */
};

#endif
