// SPDX-License-Identifier: MIT
/* Limits on the cost of a walk, and the findings when a walk exceeds them. */
#include "core/bpf/verify/engine/limits.h"

#include "core/bpf/verify/report/refuse.h"

/* Limit of work other than instructions, as a multiple of opts.max_insns. */
enum { WORK = 16 };

void nb_branch_charge(struct nb_walk *w)
{
	if (w->branch != NB_NO_PC)
		w->mem->branched[w->branch] += w->walked - w->branch_walked;
	w->branch_walked = w->walked;
}

/*
 * If most of the walk followed second outcomes of branches, set x->pc and x->to
 * to the conditional jump whose outcomes took most of it, and x->size to its
 * share in per cent; else set x->to to -1: the walk is long, but does not branch
 * much.
 */
static void find_branch(struct nb_walk *w, struct nb_refusal *x)
{
	const struct nb_program *p = &w->env->program;
	const uint32_t *branched = w->mem->branched;
	uint32_t at = 0;
	uint64_t all = 0;

	x->to = -1;
	nb_branch_charge(w);
	for (uint32_t pc = 0; pc < p->n; pc++) {
		if (p->insns[pc].kind != NB_KIND_JMP)
			continue;
		all += branched[pc];
		if (branched[pc] > branched[at] || p->insns[at].kind != NB_KIND_JMP)
			at = pc;
	}
	if (!all || all < w->walked / 2)
		return;
	x->pc = at;
	x->to = at;
	x->size = (uint64_t)branched[at] * 100 / w->walked;
}

int nb_over_memory(struct nb_walk *w)
{
	struct nb_refusal x = { .pc = w->pc,
				.reg = -1,
				.where = w->pc,
				.limit = w->env->program.opts.max_memory,
				.number = w->walked,
				.count = w->nkept };

	/* If malloc failed below the limit, there is no verdict on the
	 * program. */
	if (!w->env->program.arena->at_limit)
		return NB_E_NOMEM;
	find_branch(w, &x);
	return nb_refuse(w->env, NB_RULE_MEMORY_STATES, &x);
}

static bool is_loop(const struct nb_program *program, uint32_t head)
{
	return program->cfg.mark[head] & NB_MARK_LOOP;
}

/* Return the loop head visited most often, or without loops the join
 * visited most often. */
static uint32_t busiest(const struct nb_walk *w)
{
	uint32_t head = w->pc, loop = NB_NO_PC;

	for (uint32_t pc = 0; pc < w->env->program.n; pc++) {
		if (w->mem->visits[pc] > w->mem->visits[head])
			head = pc;
		if ((loop == NB_NO_PC || w->mem->visits[pc] > w->mem->visits[loop]) &&
		    w->mem->visits[pc] && is_loop(&w->env->program, pc))
			loop = pc;
	}
	return loop == NB_NO_PC ? head : loop;
}

/*
 * Reject the program and name the loop head with the most visits, a register
 * that keeps changing there, and the branch that adds most paths. The finding is
 * at that branch, or else at the loop head. @loop is the rule to cite for a
 * loop, @join the one for a plain join.
 */
static int refuse_complexity(struct nb_walk *w, enum nb_rule loop, enum nb_rule join,
			     uint64_t limit)
{
	uint32_t head = busiest(w);
	const struct nb_explored *n = w->mem->joins[head];
	struct nb_reg was, is;
	struct nb_refusal x = {
		.pc = head, .reg = -1, .limit = limit, .where = head, .count = w->mem->visits[head]
	};

	x.number = n && n->next ? nb_saved_change(n->next->saved, n->saved, &was, &is) : -1;
	if (x.number >= 0) {
		x.was = &was;
		x.is = &is;
	}
	find_branch(w, &x);
	return nb_refuse(w->env, is_loop(&w->env->program, head) ? loop : join, &x);
}

/* Return how many instructions of the policy's limit are left for this
 * program. */
static uint32_t policy_rest(const struct nb_env *env)
{
	uint64_t spent = (uint64_t)env->program.opts.policy_spent + env->v->stats.work;

	if (!env->program.opts.policy_insns)
		return UINT32_MAX;
	return spent < env->program.opts.policy_insns
		       ? env->program.opts.policy_insns - (uint32_t)spent
		       : 0;
}

static int over_policy(struct nb_walk *w, uint32_t head)
{
	struct nb_env *env = w->env;
	struct nb_refusal x = { .pc = head,
				.reg = -1,
				.where = head,
				.limit = env->program.opts.policy_insns,
				.count = env->program.opts.policy_spent };

	find_branch(w, &x);
	return nb_refuse(env, NB_RULE_POLICY_WORK, &x);
}

int nb_over_steps(struct nb_walk *w)
{
	struct nb_env *env = w->env;

	if (w->allowance == policy_rest(env))
		return over_policy(w, busiest(w));
	return refuse_complexity(w, NB_RULE_LOOP_STEPS, NB_RULE_COMPLEXITY,
				 env->program.opts.max_insns);
}

uint32_t nb_walk_allowance(const struct nb_env *env)
{
	uint32_t all = env->program.opts.max_insns;

	/* A replay walks part of what another walk was allowed. */
	return env->walk.how.replay || all < policy_rest(env) ? all : policy_rest(env);
}

bool nb_walk_is_over(const struct nb_walk *w)
{
	return w->walked > w->allowance || w->env->walk.work > (uint64_t)w->allowance * WORK;
}

void nb_walk_spend(const struct nb_walk *w)
{
	struct nb_verify_stats *stats = &w->env->v->stats;
	uint64_t other = w->env->walk.work / WORK;

	if (w->env->walk.how.replay)
		return;
	stats->work += w->walked > other ? w->walked : (uint32_t)other;
	stats->insns_walked += w->walked;
	stats->states_kept = w->nkept;
	if (w->most_kept > stats->states_peak)
		stats->states_peak = w->most_kept;
}

int nb_over_paths(struct nb_walk *w)
{
	return refuse_complexity(w, NB_RULE_LOOP_PATHS, NB_RULE_PATHS, NB_MAX_OPEN_PATHS);
}
