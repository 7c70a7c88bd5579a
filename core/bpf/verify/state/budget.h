// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_BUDGET_H
#define NB_VERIFY_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

#include "core/bpf/verify/state/env.h"

/* The budgets (NB_BUDGET_* bits) that the instruction itself spends. */
uint8_t nb_budget_of(const struct nb_insn *insn);

/* Set the budgets of @st for the first instruction of the program. */
void nb_budget_begin(const struct nb_env *env, struct nb_state *st);

/* Does rank-local data decide whether the next may_goto passes? */
bool nb_budget_pass_is_local(const struct nb_env *env, const struct nb_state *st);
/* Spend one pass of may_goto. */
void nb_budget_pass(struct nb_state *st);

/* Begin a loop of a helper, or an iterator, with at most @most iterations. */
void nb_budget_loop(struct nb_env *env, struct nb_state *st, uint64_t most);

/*
 * nb_budget_iterator - begin an iterator of at most @most numbers at @pc
 * @again: the iterator is inside another loop
 *
 * Returns true if the iterator reaches its end, however much was spent before.
 */
bool nb_budget_iterator(struct nb_env *env, struct nb_state *st, int64_t most, bool again,
			uint32_t pc);

/* Does rank-local data decide whether a loop may iterate once more? */
bool nb_budget_is_short(struct nb_env *env, const struct nb_state *st);

/* Record that rank-local data decided how much of @budgets was spent. */
void nb_budget_spend_locally(const struct nb_env *env, struct nb_state *st, uint8_t budgets);

/* Does every run of @st have at least as much budget left as the runs of
 * @old? */
bool nb_budget_covers(const struct nb_budget *old, const struct nb_budget *st);

/* Do loops need more iterations than a run has? Call it after a walk with
 * labels. */
bool nb_budget_needs_more(const struct nb_env *env);

#endif
