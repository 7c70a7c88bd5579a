// SPDX-License-Identifier: MIT
/* The paths still to be walked, and the branches on the current path. */
#include "core/bpf/verify/engine/worklist.h"

#include <stdlib.h>

#include "core/bpf/verify/engine/explored.h"
#include "core/bpf/verify/engine/limits.h"
#include "core/bpf/verify/engine/loop_cost.h"
#include "core/bpf/verify/engine/memory.h"

void nb_history_add(struct nb_walk *w, uint32_t pc)
{
	struct nb_env *env = w->env;
	struct nb_history *h = &env->walk.history;
	uint32_t cap = h->cap ? h->cap * 2 : 256;
	struct nb_branch_step *p;

	if (h->n == h->cap) {
		p = realloc(h->steps, cap * sizeof(*p));
		if (!p) {
			env->walk.nomem = true;
			return;
		}
		h->steps = p;
		h->cap = cap;
	}
	h->steps[h->n++] = (struct nb_branch_step){ .pc = pc };
}

void nb_history_set(struct nb_walk *w, bool taken, bool open)
{
	struct nb_history *h = &w->env->walk.history;

	if (!h->n)
		return;
	h->steps[h->n - 1].taken = taken;
	h->steps[h->n - 1].open = open;
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
	if (w->latest)
		w->latest->open++;
	w->nopen++;
	return 0;
}

static void resume(struct nb_walk *w, const struct nb_open_path *p)
{
	nb_branch_charge(w);
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
	w->branch = NB_NO_PC;
	/* The path was pushed at a branch, where the previous path fell through; 0: no memory. */
	if (p->nhistory) {
		w->env->walk.history.steps[p->nhistory - 1].taken = true;
		w->branch = w->env->walk.history.steps[p->nhistory - 1].pc;
	}
}

bool nb_worklist_pop(struct nb_walk *w)
{
	if (!w->nopen)
		return false;
	resume(w, &w->worklist[--w->nopen]);
	return true;
}
