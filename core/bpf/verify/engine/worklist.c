// SPDX-License-Identifier: MIT
/* The paths still to be walked, and the branches on the current path. */
#include "core/bpf/verify/engine/worklist.h"

#include <stdlib.h>
#include <string.h>

#include "core/bpf/verify/engine/explored.h"
#include "core/bpf/verify/engine/limits.h"
#include "core/bpf/verify/engine/loop_cost.h"
#include "core/bpf/verify/engine/memory.h"

/*
 * Add the branch at @pc to the history. In a depth-first walk the history
 * is the list of branches on the current path. In a search, which is
 * breadth-first, the history is a tree, and env->walk.history.n is the index of
 * the path's last branch plus one.
 */
void nb_history_add(struct nb_walk *w, uint32_t pc)
{
	struct nb_env *env = w->env;
	uint32_t cap = env->walk.history.cap ? env->walk.history.cap * 2 : 256;
	uint32_t at = nb_walk_searches(w) ? env->walk.history.total : env->walk.history.n;
	struct nb_branch_step *p;

	if (at == env->walk.history.cap) {
		p = realloc(env->walk.history.steps, cap * sizeof(*p));
		if (!p) {
			env->walk.nomem = true;
			return;
		}
		env->walk.history.steps = p;
		env->walk.history.cap = cap;
	}
	env->walk.history.steps[at] =
		(struct nb_branch_step){ .pc = pc, .before = env->walk.history.n };
	env->walk.history.total = env->walk.history.n = at + 1;
}

void nb_history_set(struct nb_walk *w, bool taken, bool open)
{
	struct nb_env *env = w->env;

	if (!env->walk.history.n)
		return;
	env->walk.history.steps[env->walk.history.n - 1].taken = taken;
	env->walk.history.steps[env->walk.history.n - 1].open = open;
}

/* After a path is resumed, record that it takes the branch which the
 * previous path fell through. */
static void take_branch(struct nb_walk *w)
{
	struct nb_env *env = w->env;
	struct nb_branch_step *t =
		env->walk.history.n ? &env->walk.history.steps[env->walk.history.n - 1] : NULL;
	bool open = t && t->open;

	if (!t)
		return;
	if (nb_walk_searches(w)) {
		env->walk.history.n = t->before;
		nb_history_add(w, t->pc);
	}
	nb_history_set(w, true, open);
}

int nb_worklist_push(struct nb_walk *w, uint32_t pc)
{
	struct nb_open_path *p = &w->worklist[w->nopen];

	if (w->nopen == NB_MAX_OPEN_PATHS)
		return nb_over_paths(w);
	p->saved = nb_walk_save(w, pc, &p->size);
	if (!p->saved)
		return nb_over_memory(w);
	p->pc = pc;
	p->parent = w->latest;
	p->nhistory = w->env->walk.history.n;
	p->may_gotos = w->may_gotos;
	p->length = w->length;
	p->nloops = w->loops.n;
	p->since = w->loops.since;
	p->iterated = w->iterated;
	p->taken = true;
	if (w->latest)
		w->latest->open++;
	w->nopen++;
	return 0;
}

static void resume(struct nb_walk *w, const struct nb_open_path *p)
{
	nb_state_restore(w->st, p->saved);
	nb_walk_charge(w, p->size);
	nb_block_give(w, p->saved, p->size);
	w->pc = p->pc;
	nb_walk_continue_from(w, p->parent);
	w->env->walk.history.n = p->nhistory;
	w->may_gotos = p->may_gotos;
	w->length = p->length;
	w->loops.since = p->since;
	nb_loops_resume(w, p->nloops);
	w->iterated = p->iterated;
	if (p->taken)
		take_branch(w);
}

bool nb_worklist_pop(struct nb_walk *w)
{
	if (w->nopen == w->oldest)
		return false;
	resume(w, &w->worklist[--w->nopen]);
	return true;
}

bool nb_worklist_pop_oldest(struct nb_walk *w)
{
	if (w->nopen == w->oldest)
		return false;
	resume(w, &w->worklist[w->oldest++]);
	if (w->oldest < NB_MAX_OPEN_PATHS / 2)
		return true;
	w->nopen -= w->oldest;
	memmove(w->worklist, w->worklist + w->oldest, w->nopen * sizeof(*w->worklist));
	w->oldest = 0;
	return true;
}
