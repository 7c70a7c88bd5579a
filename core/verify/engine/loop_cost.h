// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_ENGINE_LOOP_COST_H
#define NB_VERIFY_ENGINE_LOOP_COST_H

#include "core/verify/engine/walk.h"

/*
 * What each loop costs: its iterations in one run, nested loops multiplied,
 * and the instructions of one iteration without inner loops. No verdict
 * depends on it.
 */

/* A walk of env->root begins; false: no memory. It ended without a finding. */
bool nb_loops_begin(struct nb_walk *w);
void nb_loops_end(struct nb_walk *w);

/* The path comes to the join at w->pc. */
void nb_loop_header(struct nb_walk *w);

/* The start of a loop whose iterations the run time counts. */
struct nb_loop_entry {
	uint32_t pc;
	uint32_t ref;	/* the iterator's reference; 0: no iterator */
	uint32_t times; /* its iterations, 0: not constant */
	bool kept;	/* counts in nb_budgets.numbers, not in turns */
};
void nb_loop_enter(struct nb_walk *w, const struct nb_loop_entry *e);
/* The end of an iteration of the loop at @e->pc. */
void nb_loop_iterate(struct nb_walk *w, uint32_t pc);

/* The global function with number @func is called at w->pc. */
void nb_loop_call(struct nb_walk *w, uint32_t func);

/* The path continues where @n loops had begun. */
void nb_loops_resume(struct nb_walk *w, uint32_t n);

/* Fill the verdict's iterations and costliest loop. */
void nb_loops_fill(struct nb_env *env);

#endif
