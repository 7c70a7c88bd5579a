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

/* What a path has spent. */
struct nb_budget {
	uint8_t local; /* NB_BUDGET_*: how much is left is local data */
	uint8_t loops; /* so far, in a walk with labels; LOOPS_MANY: too many */
	uint8_t iters; /* so far; ITERS_MANY: too many */
	/* at most: iterations of those loops, steps of the counted iterators;
	 * 0 if there are too many of them */
	uint32_t turns, numbers;
};

/* What all walks of a verification find out. */
struct nb_budgets {
	/* iterations and iterator steps that a run must be able to make for
	 * the verdict to hold; the iterator that needs most */
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

/* A may_goto: does local data decide whether it passes? Spend one pass. */
bool nb_budget_pass_is_local(const struct nb_env *env,
			     const struct nb_state *st);
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

/* How much of @budgets was spent depends on local data. */
void nb_budget_spend_locally(const struct nb_env *env, struct nb_state *st,
			     uint8_t budgets);

/*
 * Code that the walk does not follow spent some of @budgets; how much of
 * @local depends on local data.
 */
void nb_budget_spend(struct nb_env *env, struct nb_state *st, uint8_t budgets,
		     uint8_t local);

/* A tail call may have been made: the run time keeps no numbers apart. */
void nb_budget_lose_numbers(struct nb_state *st);

/* The target of a tail call spent what it may, and returned. */
void nb_budget_spend_tail(struct nb_env *env, struct nb_state *st);

/* Those of @budgets whose rest depends on local data. */
uint8_t nb_budget_local(const struct nb_state *st, uint8_t budgets);

/* Is at least as much left in every run of @st as in those of @old? */
bool nb_budget_covers(const struct nb_budget *old, const struct nb_budget *st);

/* After a walk with labels: do loops need more iterations than a run has? */
bool nb_budget_needs_more(const struct nb_env *env);

#endif
