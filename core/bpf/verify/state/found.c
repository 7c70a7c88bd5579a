// SPDX-License-Identifier: MIT
/*
 * What walks find out. A program may be walked in several modes until one
 * accepts it. A fact counts only if the walk that found it accepts, because
 * only that walk covers the runs.
 */
#include "core/bpf/verify/state/found.h"

#include <string.h>

bool nb_found_new(const struct nb_program *program, struct nb_found *f)
{
	const struct nb_found old = *f;
	struct nb_arena *a = program->arena;

	*f = (struct nb_found){
		.aux = nb_arena_again(a, old.aux, program->n, 1),
		.noted = nb_arena_again(a, old.noted, program->n, 1),
		.depth = nb_arena_again(a, old.depth, program->cfg.nfuncs, sizeof(*f->depth)),
		.writes = nb_arena_again(a, old.writes, program->n, sizeof(*f->writes)),
		.callees = nb_arena_again(a, old.callees, program->n, sizeof(*f->callees)),
		.exits.local = NB_NO_PC,
	};
	return f->aux && f->noted && f->depth && f->writes && f->callees;
}

void nb_callee_note(struct nb_env *env, uint32_t pc, uint32_t start)
{
	struct nb_callee **to = &env->walk.found.callees[pc], *c;

	for (c = *to; c; c = c->next)
		if (c->start == start)
			return;
	c = nb_arena_alloc(env->program.arena, sizeof(*c));
	if (!c) {
		env->walk.nomem = true;
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

/*
 * Each walk that accepts covers all runs, so its bounds hold alone. Therefore
 * exits, lengths and loop costs are those of the latest walk: check_length has
 * judged the lengths of earlier walks, and only a walk with labels knows which
 * exits are local. Facts that something can happen are united, because the
 * compiler omits only what no walk has seen; stack depths are maxima in the
 * same way. Needs are maxima, because each walk relied on its own needs, and a
 * run must be granted all of them.
 */
void nb_found_keep(struct nb_env *env)
{
	struct nb_found *to = &env->facts, *from = &env->walk.found;

	for (uint32_t pc = 0; pc < env->program.n; pc++) {
		to->aux[pc] |= from->aux[pc];
		to->noted[pc] |= from->noted[pc];
		keep_writes(&to->writes[pc], &from->writes[pc]);
		keep_callees(&to->callees[pc], &from->callees[pc]);
	}
	for (uint32_t i = 0; i < env->program.cfg.nfuncs; i++)
		if (to->depth[i] < from->depth[i])
			to->depth[i] = from->depth[i];
	to->saw_local |= from->saw_local;
	to->reads_time |= from->reads_time;
	to->answered |= from->answered;
	keep_odd_stores(&to->odd_stores, from->odd_stores);
	from->odd_stores = NULL;
	to->exits = from->exits;
	to->length = from->length;
	to->loops = from->loops;
	keep_needs(&to->needs, &from->needs);
}
