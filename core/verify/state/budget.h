// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_BUDGET_H
#define NB_VERIFY_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

struct nb_env;
struct nb_insn;
struct nb_state;

/* Budgets of one run, with all functions and tail calls of the run: passes
 * of may_goto (PASSES), and iterations of helpers' loops plus iterator
 * steps (TURNS, NB_TURNS_MAX). Only this module changes the two structs
 * below. */
enum { NB_BUDGET_PASSES = 1, NB_BUDGET_TURNS = 2 };

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
	uint32_t turns, numbers;
};

/* Results that all walks of one verification share. */
struct nb_budgets {
	/* The verdict requires that a run can make this many iterations and
	 * iterator steps. @numbers_pc is the iterator that raised @numbers
	 * last. */
	uint32_t turns, numbers, numbers_pc;
	/* NB_BUDGET_* bits that the function being walked spends. */
	uint8_t uses;
	bool few_turns; /* Even the first loop of a run may end early. */
	bool tails;	/* This program makes tail calls. */
	bool target;	/* Another program may tail-call this one. */
	/* NB_BUDGET_* bits that targets of tail calls spend. */
	uint8_t of_targets;
};

/* The budgets (NB_BUDGET_* bits) that the instruction itself spends. */
uint8_t nb_budget_of(const struct nb_insn *insn);

/*
 * nb_budget_init - find the tail calls of the image that concern this program
 *
 * Call it once, before the walks. Returns false if out of memory.
 */
bool nb_budget_init(struct nb_env *env);

/* Set the budgets of @st for the first instruction of the program, or of
 * the global function env->root. */
void nb_budget_begin(const struct nb_env *env, struct nb_state *st);

/* Does rank-local data decide whether the next may_goto passes? */
bool nb_budget_pass_is_local(const struct nb_env *env,
			     const struct nb_state *st);
/* Spend one pass of may_goto. */
void nb_budget_pass(struct nb_env *env, struct nb_state *st);

/* Begin a loop of a helper, or an iterator, with at most @most iterations. */
void nb_budget_loop(struct nb_env *env, struct nb_state *st, uint64_t most);

/*
 * nb_budget_iterator - begin an iterator of at most @most numbers at @pc
 * @again: the iterator is inside another loop
 *
 * Returns true if the iterator reaches its end, however much was spent before.
 */
bool nb_budget_iterator(struct nb_env *env, struct nb_state *st, int64_t most,
			bool again, uint32_t pc);

/* Does rank-local data decide whether a loop may iterate once more? */
bool nb_budget_is_short(struct nb_env *env, const struct nb_state *st);

/* Record that rank-local data decided how much of @budgets was spent. */
void nb_budget_spend_locally(const struct nb_env *env, struct nb_state *st,
			     uint8_t budgets);

/*
 * Record that code which the walk does not follow spent some of @budgets.
 * @local: the budgets where rank-local data decided how much
 */
void nb_budget_spend(struct nb_env *env, struct nb_state *st, uint8_t budgets,
		     uint8_t local);

/* Forget how many iterator steps are spent, because a tail call may have
 * run. */
void nb_budget_lose_numbers(struct nb_state *st);

/* Record the return of a tail call: its target spent as much as it is
 * allowed to. */
void nb_budget_spend_tail(struct nb_env *env, struct nb_state *st);

/* Return the members of @budgets whose remainder depends on rank-local data. */
uint8_t nb_budget_local(const struct nb_state *st, uint8_t budgets);

/* Does every run of @st have at least as much budget left as the runs of
 * @old? */
bool nb_budget_covers(const struct nb_budget *old, const struct nb_budget *st);

/* Do loops need more iterations than a run has? Call it after a walk with
 * labels. */
bool nb_budget_needs_more(const struct nb_env *env);

#endif
