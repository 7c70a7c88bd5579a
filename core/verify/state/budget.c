// SPDX-License-Identifier: MIT
/*
 * Budgets of a run: use, shortage, and what is known where paths meet.
 *
 * All loops of a run share a budget of iterations (turns). A loop that finds it
 * used up ends early. The first LOOPS_SURE loops always find enough, because
 * one loop makes at most NB_LOOP_MAX iterations. If local data decides how much
 * was spent, a later loop ends early on some ranks only, unless it is one of
 * the first. env->budget.turns is what those need. If a run has less, because
 * its iterations are long, the walk is repeated without that rule.
 *
 * The first NB_MAX_COUNTED_ITERS iterators of a run reach their end if each has
 * at most NB_MAX_COUNTED_RANGE numbers. env->budget.numbers says how many these
 * are, and the run time keeps so many apart for them.
 *
 * A tail call continues the run in another program. The target finds what the
 * caller left, except for the numbers kept apart, which the run time takes
 * away. Nothing is known after it returns.
 */
#include "core/verify/state/budget.h"

#include "core/verify/state/env.h"
#include "core/verify/state/operands.h"

enum {
	/* loops of helpers and iterators that never end early */
	LOOPS_SURE = NB_TURNS_MAX / NB_LOOP_MAX,
	LOOPS_MANY,
	ITERS_MANY = NB_MAX_COUNTED_ITERS + 1
};

uint8_t nb_budget_of(const struct nb_insn *insn)
{
	enum nb_effect e = nb_insn_effect(insn);

	if (insn->kind == NB_KIND_MAY_GOTO)
		return NB_BUDGET_PASSES;
	return e == NB_EFFECT_CALLS || e == NB_EFFECT_ITER_NEW ||
			       e == NB_EFFECT_ITER_NEXT
		       ? NB_BUDGET_TURNS
		       : 0;
}

static bool has_program_arrays(const struct nb_image *img)
{
	for (uint32_t i = 0; i < img->nmaps; i++)
		if (img->maps[i].type == NB_MAP_PROG_ARRAY)
			return true;
	return false;
}

/* Add what program @p spends to @uses; does it make tail calls? */
static bool add_program(const struct nb_prog *p, struct nb_insn *insns,
			uint8_t *uses)
{
	bool tails = false;

	/* It is refused by its own verification, or never judged. */
	if (nb_decode(insns, p->slots, p->nslots, NULL))
		return false;
	for (uint32_t pc = 0; pc < p->nslots; pc++) {
		*uses |= nb_budget_of(&insns[pc]);
		tails |= nb_insn_effect(&insns[pc]) == NB_EFFECT_TAIL;
	}
	return tails;
}

/* Only programs of the same hook are linked with each other. */
static void add_hook(struct nb_env *env, struct nb_insn *insns)
{
	const struct nb_image *img = env->img;
	uint32_t targets = nb_image_targets(img);
	bool any = false;

	for (uint32_t i = 0; i < img->nprogs; i++) {
		const struct nb_prog *p = &img->progs[i];
		uint8_t uses = 0;
		bool tails;

		if (p->hook != env->prog->hook)
			continue;
		tails = add_program(p, insns, &uses);
		any |= tails;
		if (p == env->prog)
			env->budget.tails = tails;
		if (targets >> i & 1) {
			env->budget.target |= p == env->prog;
			env->budget.of_targets |= uses;
		}
	}
	env->budget.target &= any;
}

bool nb_budget_init(struct nb_env *env)
{
	const struct nb_image *img = env->img;
	struct nb_insn *insns;
	uint32_t most = 0;

	if (!has_program_arrays(img))
		return true;
	for (uint32_t i = 0; i < img->nprogs; i++)
		if (img->progs[i].nslots > most)
			most = img->progs[i].nslots;
	insns = nb_arena_array(env->arena, most, sizeof(*insns));
	if (insns)
		add_hook(env, insns);
	return insns;
}

static void know_no_turns(const struct nb_env *env, struct nb_budget *b)
{
	b->loops = env->labels ? LOOPS_MANY : 0;
	b->turns = 0;
}

static void know_no_numbers(struct nb_budget *b)
{
	b->iters = ITERS_MANY;
	b->numbers = 0;
}

void nb_budget_begin(const struct nb_env *env, struct nb_state *st)
{
	struct nb_budget *b = &st->budget;

	*b = (struct nb_budget){ 0 };
	/* The longest iteration of all linked programs, not known here, decides
	 * how many a run may make. */
	if (env->budget.tails || env->budget.few_turns)
		know_no_turns(env, b);
	/* Callers, or who jumped here, may have spent some. */
	if (env->root || env->budget.target) {
		know_no_turns(env, b);
		know_no_numbers(b);
	}
}

bool nb_budget_pass_is_local(const struct nb_env *env,
			     const struct nb_state *st)
{
	return env->labels && st->budget.local & NB_BUDGET_PASSES;
}

void nb_budget_pass(struct nb_env *env, struct nb_state *st)
{
	env->budget.uses |= NB_BUDGET_PASSES;
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

	env->budget.uses |= NB_BUDGET_TURNS;
	if (!env->labels || b->loops == LOOPS_MANY)
		return;
	/* Inside another loop it begins once in each iteration. */
	if (most > NB_LOOP_MAX || in_a_callback(st))
		b->loops = LOOPS_MANY;
	else
		b->loops++;
	b->turns = b->loops == LOOPS_MANY ? 0 : b->turns + (uint32_t)most;
}

bool nb_budget_iterator(struct nb_env *env, struct nb_state *st, int64_t most,
			bool again, uint32_t pc)
{
	struct nb_budget *b = &st->budget;
	struct nb_budgets *need = &env->budget;

	if (b->iters < ITERS_MANY)
		b->iters = again ? ITERS_MANY : b->iters + 1;
	if (b->iters == ITERS_MANY) {
		b->numbers = 0;
		return false;
	}
	if (most > 0)
		b->numbers += most < NB_MAX_COUNTED_RANGE
				      ? (uint32_t)most
				      : NB_MAX_COUNTED_RANGE;
	if (most <= NB_MAX_COUNTED_RANGE && need->numbers < b->numbers) {
		need->numbers = b->numbers;
		need->numbers_pc = pc;
	}
	return most <= NB_MAX_COUNTED_RANGE;
}

bool nb_budget_is_short(struct nb_env *env, const struct nb_state *st)
{
	const struct nb_budget *b = &st->budget;

	if (!env->labels || !(b->local & NB_BUDGET_TURNS))
		return false;
	if (b->loops == LOOPS_MANY)
		return true;
	if (env->budget.turns < b->turns)
		env->budget.turns = b->turns; /* see nb_budget_needs_more */
	return false;
}

void nb_budget_spend_locally(const struct nb_env *env, struct nb_state *st,
			     uint8_t budgets)
{
	if (env->labels)
		st->budget.local |= budgets;
}

void nb_budget_spend(struct nb_env *env, struct nb_state *st, uint8_t budgets,
		     uint8_t local)
{
	env->budget.uses |= budgets;
	nb_budget_spend_locally(env, st, local);
	if (budgets & NB_BUDGET_TURNS) {
		know_no_turns(env, &st->budget);
		know_no_numbers(&st->budget);
	}
}

void nb_budget_lose_numbers(struct nb_state *st)
{
	know_no_numbers(&st->budget);
}

/*
 * The verdict on the target is about its answers: local data may decide what
 * it spends. The numbers kept apart end with the tail call.
 */
void nb_budget_spend_tail(struct nb_env *env, struct nb_state *st)
{
	uint8_t uses = env->budget.of_targets;

	env->saw_local |= uses != 0;
	nb_budget_spend(env, st, uses, uses);
	know_no_numbers(&st->budget);
}

uint8_t nb_budget_local(const struct nb_state *st, uint8_t budgets)
{
	return st->budget.local & budgets;
}

bool nb_budget_covers(const struct nb_budget *old, const struct nb_budget *now)
{
	if (now->local & ~old->local || old->loops < now->loops ||
	    old->iters < now->iters)
		return false;
	return (old->loops == LOOPS_MANY || old->turns >= now->turns) &&
	       (old->iters == ITERS_MANY || old->numbers >= now->numbers);
}

bool nb_budget_needs_more(const struct nb_env *env)
{
	return env->budget.turns > nb_loop_limit(env->v->lap, NB_TURNS_MAX);
}
