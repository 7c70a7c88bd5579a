// SPDX-License-Identifier: MIT
// What a walk may cost, and the findings where it would cost more.
#include "core/verify/engine/limits.h"

#include "core/verify/report/report.h"

/* Work that is no instruction, as a multiple of opts.max_insns. */
enum { WORK = 16 };

int nb_over_memory(struct nb_walk *w)
{
	/* malloc failed below the limit: no verdict on the program. */
	if (!w->env->arena->at_limit)
		return NB_E_NOMEM;
	return nb_refuse(w->env, NB_FIND_MEMORY, w->pc, -1,
			 nb_say(w->env, "at most %zu bytes for states",
				w->env->opts.max_memory),
			 nb_say(w->env,
				"%u instructions walked, %u states "
				"kept",
				w->walked, w->env->v->stats.states_kept),
			 "");
}

/* Is @head the target of a back edge? */
static bool is_loop(const struct nb_env *env, uint32_t head)
{
	for (uint32_t pc = head; pc < env->n; pc++) {
		const struct nb_insn *insn = &env->insns[pc];
		bool jumps = insn->kind == NB_KIND_JMP ||
			     insn->kind == NB_KIND_JA ||
			     insn->kind == NB_KIND_MAY_GOTO;

		if (jumps && (int64_t)pc + 1 + insn->off == head)
			return true;
	}
	return false;
}

/* The loop head visited most often; without loops, the join. */
static uint32_t busiest(const struct nb_walk *w)
{
	uint32_t head = w->pc, loop = NB_NO_PC;

	for (uint32_t pc = 0; pc < w->env->n; pc++) {
		if (w->visits[pc] > w->visits[head])
			head = pc;
		if ((loop == NB_NO_PC || w->visits[pc] > w->visits[loop]) &&
		    w->visits[pc] && is_loop(w->env, pc))
			loop = pc;
	}
	return loop == NB_NO_PC ? head : loop;
}

/* The register that differs between the last two states at @head, or "". */
static const char *say_change(struct nb_walk *w, uint32_t head)
{
	const struct nb_explored *n = w->joins[head];
	struct nb_env *env = w->env;
	struct nb_reg was, is;
	int number;

	if (!n || !n->next)
		return "";
	number = nb_saved_change(n->next->saved, n->saved, &was, &is);
	if (number < 0)
		return "";
	return nb_say(env, "; still changing: %s, then %s",
		      nb_say_reg(env, &was, number),
		      nb_say_reg(env, &is, number));
}

/* Name the loop that took most visits, and what keeps changing in it. */
static int refuse_complexity(struct nb_walk *w, const char *required)
{
	uint32_t head = busiest(w);
	struct nb_env *env = w->env;

	return nb_refuse(
		env, NB_FIND_COMPLEXITY, head, -1, required,
		nb_say(env, "the walk passed %s %s %u times%s",
		       is_loop(env, head) ? "the loop at" : "the join at",
		       nb_say_where(env, head), w->visits[head],
		       say_change(w, head)),
		"");
}

/* Instructions left for this program of the policy's total. */
static uint32_t policy_rest(const struct nb_env *env)
{
	uint64_t spent = (uint64_t)env->opts.policy_spent + env->v->stats.work;

	if (!env->opts.policy_insns)
		return UINT32_MAX;
	return spent < env->opts.policy_insns
		       ? env->opts.policy_insns - (uint32_t)spent
		       : 0;
}

static int over_policy(struct nb_walk *w, uint32_t head)
{
	struct nb_env *env = w->env;

	return nb_refuse(env, NB_FIND_POLICY_WORK, head, -1,
			 nb_say(env,
				"verdicts on all programs of the policy within "
				"%u instructions walked",
				env->opts.policy_insns),
			 nb_say(env,
				"%u were walked for the programs before it; "
				"this one took the rest and was at %s",
				env->opts.policy_spent,
				nb_say_where(env, head)),
			 "");
}

int nb_over_steps(struct nb_walk *w)
{
	struct nb_env *env = w->env;

	if (!env->seek && w->allowance == policy_rest(env))
		return over_policy(w, busiest(w));
	return refuse_complexity(
		w, nb_say(env, "a verdict within %u instructions%s",
			  env->opts.max_insns,
			  w->walked > w->allowance ? ""
						   : ", or fewer with much on "
						     "the stack"));
}

/*
 * Each global function has a walk of its own; all walks of one mode share
 * opts.max_insns. A search for a shorter path has as many for itself.
 */
uint32_t nb_walk_allowance(const struct nb_env *env)
{
	uint32_t all = env->opts.max_insns, spent = env->spent[env->mode];
	uint32_t left = spent < all ? all - spent : 0;

	if (env->seek)
		return all;
	return left < policy_rest(env) ? left : policy_rest(env);
}

bool nb_walk_is_over(const struct nb_walk *w)
{
	return w->walked > w->allowance ||
	       w->env->work > (uint64_t)w->allowance * WORK;
}

void nb_walk_spend(const struct nb_walk *w)
{
	struct nb_env *env = w->env;
	uint64_t other = env->work / WORK;
	uint32_t n = w->walked > other ? w->walked : (uint32_t)other;

	if (env->seek)
		return;
	env->spent[env->mode] += n;
	env->v->stats.work += n;
}

int nb_over_paths(struct nb_walk *w)
{
	return refuse_complexity(w, nb_say(w->env,
					   "at most %d open paths at a time",
					   NB_MAX_OPEN_PATHS));
}
