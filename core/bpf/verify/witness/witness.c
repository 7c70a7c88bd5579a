// SPDX-License-Identifier: MIT
/*
 * The path to a finding: a search walks paths in the order of their number of
 * branches until it meets the finding, and a replay then walks only that path
 * and records its steps. Both are walks of explore.c, with env->walk.how.seek set. They
 * cannot change the verdict, because their other findings are ignored.
 */
#include "core/bpf/verify/witness/witness.h"

#include <stdlib.h>
#include <string.h>

#include "core/bpf/verify/engine/explore.h"
#include "core/bpf/verify/report/report.h"
#include "core/bpf/verify/witness/notes.h"

enum {
	MAX_BRANCHES = 65536, /* Largest number of branches of a path that can
			      be replayed. */
	/* Lower limit of a search; a long first walk raises the limit. */
	MIN_STEPS = 2000,
	MAX_STEPS = 100000
};

/* Repeat the latest walk with the search or replay @k. */
static void walk(struct nb_env *env, struct nb_seek *k)
{
	struct nb_walk_how how = env->walk.how;

	how.seek = k;
	nb_explore(env, how);
	env->walk.how.seek = NULL;
}

/* Copy the path on which the last walk ended; NULL if it is too long. */
static struct nb_branch_step *copy_path(const struct nb_env *env, uint32_t *n)
{
	const struct nb_branch_step *steps = env->walk.history.steps;
	struct nb_branch_step *to;

	*n = 0;
	for (uint32_t at = env->walk.history.n; at; at = steps[at - 1].before)
		++*n;
	to = *n > MAX_BRANCHES ? NULL : malloc((*n + 1) * sizeof(*to));
	for (uint32_t at = env->walk.history.n, i = *n; to && at; at = steps[at - 1].before)
		to[--i] = steps[at - 1];
	return to;
}

static uint32_t open_branches(const struct nb_branch_step *t, uint32_t n)
{
	uint32_t open = 0;

	for (uint32_t i = 0; i < n; i++)
		open += t[i].open;
	return open;
}

/*
 * A finding about the walk itself (such as a reached limit) has no shorter
 * path.
 */
static bool has_ways(const struct nb_finding *f)
{
	return f->cls != NB_FIND_LOOP && f->cls != NB_FIND_COMPLEXITY && f->cls != NB_FIND_MEMORY &&
	       f->cls != NB_FIND_POLICY_WORK;
}

static uint32_t search_steps(const struct nb_env *env)
{
	uint32_t steps = env->v->stats.insns_walked;

	steps = steps > MAX_STEPS / 4 ? MAX_STEPS : steps * 4;
	return steps < MIN_STEPS ? MIN_STEPS : steps;
}

/* Replace *@way by the shortest path, if the search finds one. */
static void shorten(struct nb_env *env, struct nb_branch_step **way, uint32_t *n)
{
	struct nb_finding was = env->v->finding;
	struct nb_seek k = { .cls = was.cls, .pc = was.pc, .steps = search_steps(env) };
	struct nb_branch_step *best;
	uint32_t nbest;

	if (!*way || open_branches(*way, *n) < 2 || !has_ways(&was))
		return;
	walk(env, &k);
	if (!k.found) {
		env->v->finding = was;
		return;
	}
	best = copy_path(env, &nbest);
	if (!best) {
		env->v->finding = was;
		return;
	}
	free(*way);
	*way = best;
	*n = nbest;
}

struct record {
	struct nb_trail trail;
	struct nb_branch *path; /* Descriptions of the last npath branches. */
	uint32_t nturns, npath;
};

static void note_branch(struct record *r, uint32_t pc)
{
	const struct nb_env *env = r->trail.env;
	uint32_t at = env->walk.history.n - 1, skip = r->nturns - r->npath;
	const struct nb_branch_step *t = &env->walk.history.steps[at];
	struct nb_branch *b;

	if (at < skip || at >= r->nturns || t->pc != pc)
		return;
	b = &r->path[at - skip];
	b->pc = t->pc;
	b->taken = t->taken;
	b->open = t->open;
	b->text = nb_trail_branch(&r->trail, r->trail.n - 1);
}

static void record_step(void *arg, const struct nb_env *env, const struct nb_state *st, uint32_t pc)
{
	struct record *r = arg;
	struct nb_trail *t = &r->trail;
	struct nb_trail_step *to = &t->ring[t->n % NB_TRAIL_STEPS];
	uint32_t before = t->n ? nb_trail_at(t, t->n - 1)->pc : 0;
	bool branched = t->n && env->walk.history.n &&
			(env->program.insns[before].kind == NB_KIND_JMP ||
			 env->program.insns[before].kind == NB_KIND_CALL ||
			 env->program.insns[before].kind == NB_KIND_MAY_GOTO);

	to->pc = pc;
	to->nframes = st->nframes;
	to->region = st->region;
	memcpy(to->regs, st->frames[st->nframes - 1].regs, sizeof(to->regs));
	t->n++;
	if (t->n - t->first > NB_TRAIL_STEPS)
		t->first = t->n - NB_TRAIL_STEPS;
	if (branched)
		note_branch(r, before);
}

/*
 * Store the branches without descriptions, if the path could not be replayed.
 */
static void fill_plain(struct record *r, const struct nb_branch_step *way)
{
	const struct nb_branch_step *from = way + (r->nturns - r->npath);

	for (uint32_t i = 0; i < r->npath; i++)
		r->path[i] = (struct nb_branch){ from[i].pc, from[i].taken, from[i].open, "" };
}

static void repeat(struct nb_env *env, const struct nb_branch_step *way, uint32_t n)
{
	struct nb_finding *f = &env->v->finding;
	struct record r = { { env, NULL, 0, 0 }, NULL, n, n };
	struct nb_seek k = { .cls = f->cls,
			     .pc = f->pc,
			     .steps = search_steps(env) + env->program.opts.max_insns,
			     .replay = true,
			     .path = way,
			     .npath = n,
			     .observe = record_step,
			     .observe_arg = &r };

	if (n > NB_MAX_PATH)
		r.npath = NB_MAX_PATH;
	r.path = nb_arena_array(env->program.arena, r.npath, sizeof(*r.path));
	r.trail.ring = calloc(NB_TRAIL_STEPS, sizeof(*r.trail.ring));
	if (r.path && r.trail.ring) {
		fill_plain(&r, way);
		walk(env, &k);
		f->path = r.path;
		f->npath = r.npath;
		if (k.found)
			nb_trail_notes(&r.trail, f);
	}
	free(r.trail.ring);
}

void nb_path_explain(struct nb_env *env)
{
	const struct nb_finding *f = &env->v->finding;
	struct nb_branch_step *way;
	uint32_t n;

	if (f->cls == NB_FIND_COMPLEXITY || f->cls == NB_FIND_MEMORY ||
	    f->cls == NB_FIND_POLICY_WORK)
		return;
	nb_more_words(env);
	way = copy_path(env, &n);
	shorten(env, &way, &n);
	nb_more_words(env);
	if (way)
		repeat(env, way, n);
	free(way);
}
