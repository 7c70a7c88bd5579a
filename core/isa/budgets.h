// SPDX-License-Identifier: MIT
#ifndef NB_ISA_BUDGETS_H
#define NB_ISA_BUDGETS_H

#include <stdint.h>

/*
 * What one run may spend; verifier and engines count by the same numbers.
 * A test build makes all of them small (-DNB_SMALL_BUDGETS), so that programs
 * of a few instructions use them up.
 */
enum {
#ifdef NB_SMALL_BUDGETS
	NB_RUN_BUDGET = 1 << 9,
	NB_TURNS_MAX = 8,
	NB_LOOP_MAX = 4,
	NB_MAY_GOTO_PASSES = 8,
	NB_ITERS_SURE = 2,
	NB_ITER_SURE = 4,
#else
	/* instructions that each of these, times the longest lap, may make:
	 * passes, turns, and numbers that come for sure */
	NB_RUN_BUDGET = 1 << 25,
	/* turns of helpers' loops and numbers of iterators in a run */
	NB_TURNS_MAX = 1 << 25,
	/* of one loop or iterator (Linux: BPF_MAX_LOOPS) */
	NB_LOOP_MAX = 1 << 23,
	/* passes of may_goto in a run (Linux: BPF_MAX_LOOPS) */
	NB_MAY_GOTO_PASSES = 1 << 23,
	/* the first iterators of a run reach their end for sure, if they have
	 * so few numbers; others may end early */
	NB_ITERS_SURE = 64,
	NB_ITER_SURE = 4096,
#endif
	NB_TAIL_MAX = 33, /* tail calls in a run (Linux: MAX_TAIL_CALL_CNT) */
	NB_LAP_MAX = 1000000
};

/*
 * What bounds a run. A lap are the instructions from one pass of a may_goto,
 * end of a callback's turn or number of an iterator to the next one or the
 * program's end; the verifier knows how many they are at most. Of passes, of
 * turns, and of numbers that come for sure, a run has as many as make
 * NB_RUN_BUDGET instructions by the longest lap of its programs. Each tail call
 * adds two laps at most, so that a run ends within NB_RUN_MAX instructions.
 */
enum { NB_RUN_MAX = 3 * NB_RUN_BUDGET + (2 * NB_TAIL_MAX + 1) * NB_LAP_MAX };

/* How often a run may do what @lap instructions follow, of @most times. */
static inline uint32_t nb_laps(uint32_t lap, uint32_t most)
{
	uint32_t n = lap ? (uint32_t)NB_RUN_BUDGET / lap : most;

	return n < most ? n : most;
}

#endif
