// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_BUDGET_H
#define NB_VERIFY_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

struct nb_env;
struct nb_insn;
struct nb_state;

/*
 * What one run may spend, with all its functions and tail calls: passes of
 * may_goto (PASSES), and iterations of helpers' loops plus iterator steps
 * (TURNS, NB_TURNS_MAX).
 * Only this module changes the two structs below.
 */
enum { NB_BUDGET_PASSES = 1, NB_BUDGET_TURNS = 2 };

/* Budgets that a path has spent. */
struct nb_budget {
	uint8_t local; /* NB_BUDGET_*: local data decides the rest */
	uint8_t loops; /* begun, in a walk with labels; LOOPS_MANY: many */
	uint8_t iters; /* begun; ITERS_MANY: too many */
	/* upper bounds: iterations of @loops, steps of @iters; 0 if there are
	 * too many loops or iterators */
	uint32_t turns, numbers;
};

/* Results that the walks of a verification share. */
struct nb_budgets {
	/* The verdict requires that a run can make this many iterations and
	 * iterator steps; @numbers_pc: the iterator that reaches @numbers. */
	uint32_t turns, numbers, numbers_pc;
	uint8_t uses;	    /* NB_BUDGET_*: spent by the function walked now */
	bool few_turns;	    /* even the first loop may end early */
	bool tails;	    /* this program makes tail calls */
	bool target;	    /* another program's tail call may lead here */
	uint8_t of_targets; /* NB_BUDGET_*: spent by targets of tail calls */
};

/* Budgets (NB_BUDGET_*) that the instruction spends by itself. */
uint8_t nb_budget_of(const struct nb_insn *insn);

/*
 * nb_budget_init - find what tail calls of the image mean for this program
 *
 * Once, before the walks. false: no memory.
 */
bool nb_budget_init(struct nb_env *env);

/* The budget where the program, or the global function env->root, begins. */
void nb_budget_begin(const struct nb_env *env, struct nb_state *st);

/* Does local data decide whether the next may_goto passes? */
bool nb_budget_pass_is_local(const struct nb_env *env,
			     const struct nb_state *st);
/* Spend one pass of may_goto. */
void nb_budget_pass(struct nb_env *env, struct nb_state *st);

/* A helper's loop or an iterator of at most @most iterations begins. */
void nb_budget_loop(struct nb_env *env, struct nb_state *st, uint64_t most);

/*
 * nb_budget_iterator - an iterator of at most @most numbers begins at @pc
 * @again: inside another loop
 *
 * Does it reach its end for any amount spent before?
 */
bool nb_budget_iterator(struct nb_env *env, struct nb_state *st, int64_t most,
			bool again, uint32_t pc);

/* Does local data decide whether a loop may iterate once more? */
bool nb_budget_is_short(struct nb_env *env, const struct nb_state *st);

/* Record that local data decided how much of @budgets was spent. */
void nb_budget_spend_locally(const struct nb_env *env, struct nb_state *st,
			     uint8_t budgets);

/*
 * Record that code which the walk does not follow spent some of @budgets.
 * @local: the budgets where local data decided how much.
 */
void nb_budget_spend(struct nb_env *env, struct nb_state *st, uint8_t budgets,
		     uint8_t local);

/* A tail call may have run: forget how many iterator steps are spent. */
void nb_budget_lose_numbers(struct nb_state *st);

/* A tail call returned: its target spent as much as it is allowed to. */
void nb_budget_spend_tail(struct nb_env *env, struct nb_state *st);

/* The members of @budgets whose remainder depends on local data. */
uint8_t nb_budget_local(const struct nb_state *st, uint8_t budgets);

/* Is at least as much left in every run of @st as in those of @old? */
bool nb_budget_covers(const struct nb_budget *old, const struct nb_budget *st);

/* After a walk with labels: do loops need more iterations than a run has? */
bool nb_budget_needs_more(const struct nb_env *env);

#endif
