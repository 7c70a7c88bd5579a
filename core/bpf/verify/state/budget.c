// SPDX-License-Identifier: MIT
/*
 * Budgets of a run: how instructions spend them, where a loop may find too
 * little left, and how the budgets of two paths compare.
 *
 * All loops of a run share a budget of iterations. A loop ends early
 * when the budget is used up. The first LOOPS_SURE loops never end early,
 * because one loop makes at most NB_LOOP_MAX iterations. If rank-local data
 * decides how much of the budget was spent, a later loop may end early on some
 * ranks and not on others. @iterations of struct nb_budget_needs is the number
 * of iterations that the first loops need. If a run may make fewer iterations,
 * because its iterations are long, the verifier repeats the walk and assumes
 * that any loop may end early.
 *
 * The first NB_MAX_COUNTED_ITERS iterators of a run reach their end if each
 * yields at most NB_MAX_COUNTED_RANGE numbers. @iter_steps is the
 * sum of these numbers, and the run time reserves as many steps for them.
 */
#include "core/bpf/verify/state/budget.h"

#include "core/bpf/verify/state/env.h"
#include "core/bpf/verify/state/operands.h"

enum {
	/* Number of loops (of helpers and iterators) that never end early. */
	LOOPS_SURE = NB_MAX_ITERATIONS / NB_LOOP_MAX,
	LOOPS_MANY,
	ITERS_MANY = NB_MAX_COUNTED_ITERS + 1
};

uint8_t nb_budget_of(const struct nb_insn *insn)
{
	enum nb_effect e = nb_insn_effect(insn);

	if (insn->kind == NB_KIND_MAY_GOTO)
		return NB_BUDGET_PASSES;
	return e == NB_EFFECT_CALLS || e == NB_EFFECT_ITER_NEW || e == NB_EFFECT_ITER_NEXT
		       ? NB_BUDGET_ITERATIONS
		       : 0;
}

static void forget_iterations(const struct nb_env *env, struct nb_budget *b)
{
	b->loops = env->walk.how.labels ? LOOPS_MANY : 0;
	b->iterations = 0;
}

void nb_budget_begin(const struct nb_env *env, struct nb_state *st)
{
	struct nb_budget *b = &st->budget;

	*b = (struct nb_budget){ 0 };
	if (env->walk.how.few_iterations)
		forget_iterations(env, b);
}

bool nb_budget_pass_is_local(const struct nb_env *env, const struct nb_state *st)
{
	return env->walk.how.labels && st->budget.local & NB_BUDGET_PASSES;
}

void nb_budget_pass(struct nb_state *st)
{
	if (st->region.open)
		st->budget.local |= NB_BUDGET_PASSES;
}

static bool in_a_callback(const struct nb_state *st)
{
	for (uint32_t i = 0; i < st->nframes; i++)
		if (st->frames[i].callback)
			return true;
	return false;
}

void nb_budget_loop(struct nb_env *env, struct nb_state *st, uint64_t most)
{
	struct nb_budget *b = &st->budget;

	if (!env->walk.how.labels || b->loops == LOOPS_MANY)
		return;
	/* A loop inside another loop begins once in each iteration of the
	 * outer loop. */
	if (most > NB_LOOP_MAX || in_a_callback(st))
		b->loops = LOOPS_MANY;
	else
		b->loops++;
	b->iterations = b->loops == LOOPS_MANY ? 0 : b->iterations + (uint32_t)most;
}

bool nb_budget_iterator(struct nb_env *env, struct nb_state *st, int64_t most, bool again,
			uint32_t pc)
{
	struct nb_budget *b = &st->budget;
	struct nb_budget_needs *need = &env->walk.found.needs;

	if (b->iters < ITERS_MANY)
		b->iters = again ? ITERS_MANY : b->iters + 1;
	if (b->iters == ITERS_MANY) {
		b->iter_steps = 0;
		return false;
	}
	if (most > 0)
		b->iter_steps +=
			most < NB_MAX_COUNTED_RANGE ? (uint32_t)most : NB_MAX_COUNTED_RANGE;
	if (most <= NB_MAX_COUNTED_RANGE && need->iter_steps < b->iter_steps) {
		need->iter_steps = b->iter_steps;
		need->iter_steps_pc = pc;
	}
	return most <= NB_MAX_COUNTED_RANGE;
}

bool nb_budget_is_short(struct nb_env *env, const struct nb_state *st)
{
	const struct nb_budget *b = &st->budget;

	if (!env->walk.how.labels || !(b->local & NB_BUDGET_ITERATIONS))
		return false;
	if (b->loops == LOOPS_MANY)
		return true;
	if (env->walk.found.needs.iterations < b->iterations)
		/* nb_budget_needs_more reads this value after the walk. */
		env->walk.found.needs.iterations = b->iterations;
	return false;
}

void nb_budget_spend_locally(const struct nb_env *env, struct nb_state *st, uint8_t budgets)
{
	if (env->walk.how.labels)
		st->budget.local |= budgets;
}

bool nb_budget_covers(const struct nb_budget *old, const struct nb_budget *now)
{
	if (now->local & ~old->local || old->loops < now->loops || old->iters < now->iters)
		return false;
	return (old->loops == LOOPS_MANY || old->iterations >= now->iterations) &&
	       (old->iters == ITERS_MANY || old->iter_steps >= now->iter_steps);
}

/* A generation may lower the limit (run_limit.c), but it grants nb_runs_loops
 * first, which contains these iterations. */
bool nb_budget_needs_more(const struct nb_env *env)
{
	return env->facts.needs.iterations >
	       nb_loop_limit(env->v->runs.iteration, NB_MAX_ITERATIONS);
}
