// SPDX-License-Identifier: MIT
/*
 * What walks find out. A program may be walked in several modes until one
 * accepts it. A fact counts only if the walk that found it accepts, because
 * only that walk covers the runs.
 */
#include "core/bpf/verify/state/found.h"

#include <string.h>

static bool found_new(struct nb_env *env, struct nb_found *f)
{
	f->aux = nb_arena_array(env->arena, env->n, 1);
	f->noted = nb_arena_array(env->arena, env->n, 1);
	f->depth = nb_arena_array(env->arena, env->cfg.nfuncs, sizeof(*f->depth));
	f->writes = nb_arena_array(env->arena, env->n, sizeof(*f->writes));
	f->callees = nb_arena_array(env->arena, env->n, sizeof(*f->callees));
	f->exits.local = NB_NO_PC;
	return f->aux && f->noted && f->depth && f->writes && f->callees;
}

bool nb_found_init(struct nb_env *env)
{
	return found_new(env, &env->found) && found_new(env, &env->facts);
}

void nb_found_begin(struct nb_env *env)
{
	struct nb_found *f = &env->found;

	*f = (struct nb_found){ .aux = f->aux,
				.noted = f->noted,
				.depth = f->depth,
				.writes = f->writes,
				.callees = f->callees,
				.exits.local = NB_NO_PC };
	memset(f->aux, 0, env->n);
	memset(f->noted, 0, env->n);
	memset(f->depth, 0, env->cfg.nfuncs * sizeof(*f->depth));
	memset(f->callees, 0, env->n * sizeof(*f->callees));
	/* The memory of a rejected walk's cells is used again. */
	for (uint32_t pc = 0; pc < env->n; pc++)
		if (f->writes[pc])
			memset(f->writes[pc], 0, sizeof(*f->writes[pc]));
}

void nb_callee_note(struct nb_env *env, uint32_t pc, uint32_t start)
{
	struct nb_callee **to = &env->found.callees[pc], *c;

	for (c = *to; c; c = c->next)
		if (c->start == start)
			return;
	c = nb_arena_alloc(env->arena, sizeof(*c));
	if (!c) {
		env->nomem = true;
		return;
	}
	*c = (struct nb_callee){ *to, start };
	*to = c;
}

static void keep_writes(struct nb_writes **to, struct nb_writes **from)
{
	if (!*to) {
		*to = *from;
		*from = NULL;
		return;
	}
	for (unsigned f = 0; *from && f < NB_MAX_FRAMES; f++)
		for (unsigned i = 0; i < NB_NCELLS / 64; i++)
			(*to)->cells[f][i] |= (*from)->cells[f][i];
}

/* Move the callbacks of *@from that *@to lacks. */
static void keep_callees(struct nb_callee **to, struct nb_callee **from)
{
	struct nb_callee *c, *old;

	while ((c = *from)) {
		*from = c->next;
		for (old = *to; old && old->start != c->start;)
			old = old->next;
		if (old)
			continue;
		c->next = *to;
		*to = c;
	}
}

static void keep_odd_stores(struct nb_odd_store **to, struct nb_odd_store *from)
{
	struct nb_odd_store *s, *old;

	while ((s = from)) {
		from = s->next;
		for (old = *to; old && (old->pc != s->pc || old->answer != s->answer);)
			old = old->next;
		if (old)
			continue;
		s->next = *to;
		*to = s;
	}
}

static void keep_needs(struct nb_budget_needs *to, const struct nb_budget_needs *from)
{
	if (to->iterations < from->iterations)
		to->iterations = from->iterations;
	if (to->iter_steps >= from->iter_steps)
		return;
	to->iter_steps = from->iter_steps;
	to->iter_steps_pc = from->iter_steps_pc;
}

void nb_found_keep(struct nb_env *env)
{
	struct nb_found *to = &env->facts, *from = &env->found;

	for (uint32_t pc = 0; pc < env->n; pc++) {
		to->aux[pc] |= from->aux[pc];
		to->noted[pc] |= from->noted[pc];
		keep_writes(&to->writes[pc], &from->writes[pc]);
		keep_callees(&to->callees[pc], &from->callees[pc]);
	}
	for (uint32_t i = 0; i < env->cfg.nfuncs; i++)
		if (to->depth[i] < from->depth[i])
			to->depth[i] = from->depth[i];
	to->saw_local |= from->saw_local;
	to->reads_time |= from->reads_time;
	to->answered |= from->answered;
	keep_odd_stores(&to->odd_stores, from->odd_stores);
	from->odd_stores = NULL;
	to->exits = from->exits;
	to->length = from->length;
	keep_needs(&to->needs, &from->needs);
}
