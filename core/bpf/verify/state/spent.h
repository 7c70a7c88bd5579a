// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_STATE_SPENT_H
#define NB_VERIFY_STATE_SPENT_H

#include <stdbool.h>
#include <stdint.h>

/* Budgets of one run, with all functions of the run: passes of may_goto
 * (PASSES), and iterations of helpers' loops plus iterator steps (ITERATIONS,
 * NB_MAX_ITERATIONS). Only budget.c changes the two structs below. */
enum { NB_BUDGET_PASSES = 1, NB_BUDGET_ITERATIONS = 2 };

/* The budgets that a path has spent so far. */
struct nb_budget {
	/* NB_BUDGET_* bits of the budgets whose remainder depends on
	 * rank-local data. */
	uint8_t local;
	/* Loops begun so far in a walk with labels; LOOPS_MANY means too
	 * many to count. */
	uint8_t loops;
	/* Iterators begun so far; ITERS_MANY means too many to count. */
	uint8_t iters;
	/* Upper bounds: iterations of the counted loops, and steps of the
	 * counted iterators. 0 if there are too many loops or iterators. */
	uint32_t iterations, iter_steps;
};

/* What the verdict requires: a run can make this many iterations and iterator
 * steps. @iter_steps_pc is the iterator that raised @iter_steps last. */
struct nb_budget_needs {
	uint32_t iterations, iter_steps, iter_steps_pc;
};

#endif
