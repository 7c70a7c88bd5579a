// SPDX-License-Identifier: MIT
/*
 * Walk over all behaviours of a program: path after path, until the
 * worklist is empty. Read this file first, then explored.c (where paths
 * end) and transfer.c.
 */
#include "core/bpf/verify/engine/explore.h"

#include <stdlib.h>

#include "core/bpf/verify/coherence/control_dep.h"
#include "core/bpf/verify/engine/explored.h"
#include "core/bpf/verify/engine/limits.h"
#include "core/bpf/verify/engine/loop_cost.h"
#include "core/bpf/verify/engine/precision.h"
#include "core/bpf/verify/engine/run_length.h"
#include "core/bpf/verify/engine/transfer.h"
#include "core/bpf/verify/engine/worklist.h"
#include "core/bpf/verify/insn/check.h"
#include "core/bpf/verify/insn/step.h"
#include "core/bpf/verify/state/found.h"

/*
 * At a branch with several possible outcomes, a replay takes the one that it
 * was given. @more is set to false where it leaves the way: a replay does not
 * widen, so it may know the outcome of a branch that was open in the walk.
 */
static void choose(struct nb_walk *w, bool *more)
{
	const struct nb_way *to = &w->env->v->finding.way;
	const struct nb_history *h = &w->env->walk.history;
	const uint32_t at = h->n;

	if (at && at <= to->n && w->nopen && to->steps[at - 1].taken)
		nb_worklist_pop(w);
	w->nopen = 0;
	*more = !at || (at <= to->n && to->steps[at - 1].pc == h->steps[at - 1].pc &&
			to->steps[at - 1].taken == h->steps[at - 1].taken);
}

static void observe(struct nb_walk *w)
{
	struct nb_env *env = w->env;
	const struct nb_verify_opts *opts = &env->program.opts;

	env->walk.found.aux[w->pc] |= NB_AUX_REACHED;
	if (opts->observe)
		opts->observe(opts->observe_arg, env, w->st, w->pc);
}

static int walk_join(struct nb_walk *w, bool *more)
{
	nb_loop_header(w);
	return nb_prune_at_join(w, more);
}

/*
 * Check and step the instruction at w->pc. *@more is set to false if the path
 * ends.
 */
static int walk_insn(struct nb_walk *w, bool *more)
{
	struct nb_region *r = &w->st->region;
	struct nb_env *env = w->env;
	int rc = 0;

	if (r->open && r->frame + 1u == w->st->nframes && r->end == w->pc)
		nb_region_close(env, w->st);
	if (env->program.cfg.mark[w->pc] & NB_MARK_JOIN)
		rc = walk_join(w, more);
	/* a region without memory has tainted nothing, and walk_join may have ended the path */
	if (!rc && env->walk.nomem)
		rc = nb_over_memory(w);
	if (rc || !*more)
		return rc;
	w->walked++;
	if (nb_walk_is_over(w))
		return nb_over_steps(w);
	nb_length_add_insn(w);
	observe(w);
	nb_access_resolve(&env->program, w->st, &env->program.insns[w->pc], &w->access);
	rc = nb_check(env, w->st, w->pc, &w->access);
	if (rc)
		return rc;
	nb_mark_uses(env, w->st, w->pc, &w->access);
	rc = nb_advance(w, more);
	if (!rc && env->walk.how.replay && *more)
		choose(w, more);
	return !rc && env->walk.nomem ? nb_over_memory(w) : rc;
}

static int walk_path(struct nb_walk *w)
{
	bool more = true;
	int rc = 0;

	while (more && !rc)
		rc = walk_insn(w, &more);
	return rc;
}

static int walk_all(struct nb_walk *w)
{
	int rc;

	nb_step_init(w->env, w->st);
	w->pc = 0;
	do {
		rc = walk_path(w);
		if (rc || w->env->walk.how.replay)
			return rc;
		nb_path_end(w);
	} while (nb_worklist_pop(w));
	return 0;
}

void nb_walk_forget(struct nb_env *env)
{
	free(env->walk.history.steps);
	env->walk = (struct nb_walk_shared){ .found = env->walk.found };
}

/* Return the memory of the walks with empty tables; NULL if out of memory. */
static struct nb_walk_memory *memory_begin(struct nb_env *env)
{
	struct nb_arena *a = env->program.arena;
	struct nb_walk_memory *m = env->memory;
	const uint32_t n = env->program.n;

	if (!m)
		m = env->memory = nb_arena_alloc(a, sizeof(*m));
	if (!m)
		return NULL;
	m->joins = nb_arena_again(a, m->joins, n, sizeof(*m->joins));
	m->counted = nb_arena_again(a, m->counted, n, sizeof(*m->counted));
	m->visits = nb_arena_again(a, m->visits, n, sizeof(*m->visits));
	m->branched = nb_arena_again(a, m->branched, n, sizeof(*m->branched));
	return m->joins && m->counted && m->visits && m->branched ? m : NULL;
}

int nb_explore(struct nb_env *env, struct nb_walk_how how)
{
	const struct nb_program *p = &env->program;
	struct nb_walk *w = calloc(1, sizeof(*w));
	int rc = NB_E_NOMEM;

	nb_walk_forget(env);
	env->walk.how = how;
	if (!w)
		return NB_E_NOMEM;
	w->env = env;
	w->branch = NB_NO_PC;
	w->mem = memory_begin(env);
	/* The state is large and mostly untouched, so it is not cleared. */
	w->st = malloc(sizeof(*w->st));
	w->worklist = malloc(NB_MAX_OPEN_PATHS * sizeof(*w->worklist));
	if (w->mem && w->st && w->worklist && nb_found_new(p, &env->walk.found) &&
	    nb_loops_begin(w)) {
		w->allowance = nb_walk_allowance(env);
		nb_steps_find(&w->steps, p->img, p->insns, p->n);
		rc = walk_all(w);
		nb_explored_forget(w);
	}
	nb_walk_spend(w);
	free(w->st);
	free(w->worklist);
	free(w->loops.begun);
	free(w);
	return rc;
}
