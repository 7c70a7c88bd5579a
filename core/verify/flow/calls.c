// SPDX-License-Identifier: MIT
/* What the walks found out about calls: which functions a helper called
 * back, and what a global function does that concerns its callers. */
#include "core/verify/flow/calls.h"

#include "core/verify/flow/cfg.h"

void nb_callee_note(struct nb_env *env, uint32_t pc, uint32_t start)
{
	struct nb_callee *c;

	if (!env->cfg.callees)
		env->cfg.callees = nb_arena_array(env->arena, env->n,
						  sizeof(struct nb_callee *));
	for (c = env->cfg.callees ? env->cfg.callees[pc] : NULL; c; c = c->next)
		if (c->start == start)
			return;
	c = env->cfg.callees ? nb_arena_alloc(env->arena, sizeof(*c)) : NULL;
	if (!c) {
		env->nomem = true;
		return;
	}
	*c = (struct nb_callee){ env->cfg.callees[pc], start };
	env->cfg.callees[pc] = c;
}

const struct nb_callee *nb_callees(const struct nb_env *env, uint32_t pc)
{
	return env->cfg.callees ? env->cfg.callees[pc] : NULL;
}

struct nb_global *nb_global_at(const struct nb_env *env, int64_t pc)
{
	int f = pc < 0 || pc >= env->n ? -1 : nb_cfg_func_at(env, (uint32_t)pc);

	return f < 0 ? NULL : env->globals[f];
}
