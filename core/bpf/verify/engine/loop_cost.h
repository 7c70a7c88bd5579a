// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_ENGINE_LOOP_COST_H
#define NB_VERIFY_ENGINE_LOOP_COST_H

#include "core/bpf/verify/engine/walk.h"

/*
 * The cost of each loop: its iterations in one run, with nested loops
 * multiplied, and the instructions of one iteration without inner loops. No
 * verdict on a program depends on it, but its constant_iterations are part of
 * what run_limit.c adds up, which may refuse a generation.
 */

/* Find the loops of the program; returns false if out of memory. */
bool nb_loops_find(struct nb_program *program);

/* Start the bookkeeping for a walk; returns false if out of memory. */
bool nb_loops_begin(struct nb_walk *w);

/* Record that the path reaches the join at w->pc. */
void nb_loop_header(struct nb_walk *w);

/* The beginning of a loop whose iterations the run time counts. */
struct nb_loop_entry {
	uint32_t pc;
	/* The iterator's reference; 0 if the loop is no iterator. */
	uint32_t ref;
	uint32_t times; /* The number of iterations; 0 if it is not constant. */
	bool kept;	/* The loop counts in nb_budget.iter_steps, not in
			   iterations. */
};
void nb_loop_enter(struct nb_walk *w, const struct nb_loop_entry *e);
/* Record the end of an iteration of the loop at @pc. */
void nb_loop_iterate(struct nb_walk *w, uint32_t pc);

/* Resume a path on which @n loops had begun. */
void nb_loops_resume(struct nb_walk *w, uint32_t n);

/* Set the verdict's iterations and its costliest loop. */
void nb_loops_fill(struct nb_env *env);

#endif
