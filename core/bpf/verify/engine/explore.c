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
#include "core/bpf/verify/report/report.h"
#include "core/bpf/verify/state/found.h"

/*
 * Choose how a second walk (struct nb_seek) continues at a branch with several
 * possible outcomes. A search pushes the current path behind the others, so
 * that paths with fewer branches come first. A replay takes the outcome that it
 * was given. @before is the number of paths that were open before the branch.
 * *@more is set to false if this path is not continued.
 */
static int choose(struct nb_walk *w, uint32_t before, bool *more)
{
	const struct nb_seek *k = w->env->walk.how.seek;
	uint32_t at = w->env->walk.history.n;
	int rc;

	if (!k->replay) {
		rc = nb_worklist_push(w, w->pc);
		if (!rc)
			w->worklist[w->nopen - 1].taken = false;
		*more = false;
		return rc;
	}
	*more = at && at <= k->npath && k->path[at - 1].pc == w->env->walk.history.steps[at - 1].pc;
	if (*more && k->path[at - 1].taken)
		nb_worklist_pop(w);
	w->nopen = w->oldest = before;
	return 0;
}

static void observe(struct nb_walk *w)
{
	struct nb_env *env = w->env;
	const struct nb_verify_opts *opts = &env->program.opts;
	const struct nb_seek *k = env->walk.how.seek;

	env->walk.found.aux[w->pc] |= NB_AUX_REACHED;
	if (opts->trace && !k)
		nb_trace_state(env, w->st, w->pc);
	if (k && k->observe)
		k->observe(k->observe_arg, env, w->st, w->pc);
	if (opts->observe && !k)
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
	uint32_t open = w->nopen;
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
	if (!rc && env->walk.how.seek && *more && w->nopen > open)
		rc = choose(w, open, more);
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

/* A search continues after findings other than the one it looks for. */
static bool continues(const struct nb_walk *w, int rc)
{
	return !rc || (rc == NB_E_VERIFY && nb_walk_searches(w) && !w->env->walk.how.seek->found &&
		       !w->env->walk.how.seek->over);
}

static int walk_all(struct nb_walk *w)
{
	int rc;

	nb_step_init(w->env, w->st);
	w->pc = 0;
	do {
		rc = walk_path(w);
		if (nb_walk_replays(w))
			return rc;
		if (continues(w, rc))
			nb_path_end(w);
	} while (continues(w, rc) &&
		 (nb_walk_searches(w) ? nb_worklist_pop_oldest(w) : nb_worklist_pop(w)));
	return rc;
}

void nb_walk_forget(struct nb_env *env)
{
	free(env->walk.history.steps);
	env->walk = (struct nb_walk_shared){ 0 };
}

int nb_explore(struct nb_env *env, struct nb_walk_how how)
{
	const struct nb_program *p = &env->program;
	struct nb_walk *w = nb_arena_alloc(p->arena, sizeof(*w));
	int rc = NB_E_NOMEM;

	nb_walk_forget(env);
	env->walk.how = how;
	if (!w)
		return NB_E_NOMEM;
	w->env = env;
	/* The state is large and mostly untouched. The arena would clear
	 * it, so malloc allocates it. */
	w->st = malloc(sizeof(*w->st));
	w->worklist = malloc(NB_MAX_OPEN_PATHS * sizeof(*w->worklist));
	w->joins = nb_arena_array(p->arena, p->n, sizeof(*w->joins));
	w->counted = nb_arena_array(p->arena, p->n, sizeof(*w->counted));
	w->visits = nb_arena_array(p->arena, p->n, sizeof(*w->visits));
	if (w->st && w->worklist && w->joins && w->counted && w->visits && nb_loops_begin(w) &&
	    nb_found_new(p, &env->walk.found)) {
		w->allowance = nb_walk_allowance(env);
		nb_steps_find(&w->steps, p->img, p->insns, p->n);
		rc = walk_all(w);
	}
	nb_walk_spend(w);
	free(w->st);
	free(w->worklist);
	free(w->loops.begun);
	return rc;
}
