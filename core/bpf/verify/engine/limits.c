// SPDX-License-Identifier: MIT
/* Limits on the cost of a walk, and the findings when a walk exceeds them. */
#include "core/bpf/verify/engine/limits.h"

#include "core/bpf/verify/report/refuse.h"

/* Limit of work other than instructions, as a multiple of opts.max_insns. */
enum { WORK = 16 };

int nb_over_memory(struct nb_walk *w)
{
	/* If malloc failed below the limit, there is no verdict on the
	 * program. */
	if (!w->env->arena->at_limit)
		return NB_E_NOMEM;
	return nb_refuse_program(w->env, NB_RULE_MEMORY_STATES, .pc = w->pc,
				 .limit = w->env->opts.max_memory, .size = w->walked,
				 .count = w->env->v->stats.states_kept);
}

/* Is @head the target of a back edge? */
static bool is_loop(const struct nb_env *env, uint32_t head)
{
	for (uint32_t pc = head; pc < env->n; pc++) {
		const struct nb_insn *insn = &env->insns[pc];

		if (insn->traits & NB_INSN_JUMP && nb_insn_target(insn, pc) == head)
			return true;
	}
	return false;
}

/* Return the loop head visited most often, or without loops the join
 * visited most often. */
static uint32_t busiest(const struct nb_walk *w)
{
	uint32_t head = w->pc, loop = NB_NO_PC;

	for (uint32_t pc = 0; pc < w->env->n; pc++) {
		if (w->visits[pc] > w->visits[head])
			head = pc;
		if ((loop == NB_NO_PC || w->visits[pc] > w->visits[loop]) && w->visits[pc] &&
		    is_loop(w->env, pc))
			loop = pc;
	}
	return loop == NB_NO_PC ? head : loop;
}

/*
 * Reject the program and name the loop head with the most visits, and a
 * register that keeps changing there. @loop is the rule to cite for a loop,
 * @join the one for a plain join.
 */
static int refuse_complexity(struct nb_walk *w, enum nb_rule loop, enum nb_rule join,
			     uint64_t limit)
{
	uint32_t head = busiest(w);
	const struct nb_explored *n = w->joins[head];
	struct nb_reg was, is;
	struct nb_refusal x = {
		.pc = head, .reg = -1, .limit = limit, .where = head, .count = w->visits[head]
	};

	x.number = n && n->next ? nb_saved_change(n->next->saved, n->saved, &was, &is) : -1;
	if (x.number >= 0) {
		x.was = &was;
		x.is = &is;
	}
	return nb_refuse(w->env, is_loop(w->env, head) ? loop : join, &x);
}

/* Return how many instructions of the policy's limit are left for this
 * program. */
static uint32_t policy_rest(const struct nb_env *env)
{
	uint64_t spent = (uint64_t)env->opts.policy_spent + env->v->stats.work;

	if (!env->opts.policy_insns)
		return UINT32_MAX;
	return spent < env->opts.policy_insns ? env->opts.policy_insns - (uint32_t)spent : 0;
}

static int over_policy(struct nb_walk *w, uint32_t head)
{
	struct nb_env *env = w->env;

	return nb_refuse_program(env, NB_RULE_POLICY_WORK, .pc = head,
				 .limit = env->opts.policy_insns, .count = env->opts.policy_spent,
				 .where = head);
}

int nb_over_steps(struct nb_walk *w)
{
	struct nb_env *env = w->env;

	if (!env->seek && w->allowance == policy_rest(env))
		return over_policy(w, busiest(w));
	return refuse_complexity(w, NB_RULE_LOOP_STEPS, NB_RULE_STEPS, env->opts.max_insns);
}

/* A search for a shorter path has another opts.max_insns. */
uint32_t nb_walk_allowance(const struct nb_env *env)
{
	uint32_t all = env->opts.max_insns;

	if (env->seek)
		return all;
	return all < policy_rest(env) ? all : policy_rest(env);
}

bool nb_walk_is_over(const struct nb_walk *w)
{
	return w->walked > w->allowance || w->env->cost.work > (uint64_t)w->allowance * WORK;
}

void nb_walk_spend(const struct nb_walk *w)
{
	struct nb_env *env = w->env;
	uint64_t other = env->cost.work / WORK;
	uint32_t n = w->walked > other ? w->walked : (uint32_t)other;

	if (!env->seek)
		env->v->stats.work += n;
}

int nb_over_paths(struct nb_walk *w)
{
	return refuse_complexity(w, NB_RULE_LOOP_PATHS, NB_RULE_PATHS, NB_MAX_OPEN_PATHS);
}
