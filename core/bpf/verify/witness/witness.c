// SPDX-License-Identifier: MIT
/* The path to a finding is walked once more, and its steps are recorded. */
#include "core/bpf/verify/witness/witness.h"

#include <stdlib.h>
#include <string.h>

#include "core/bpf/verify/engine/explore.h"
#include "core/bpf/verify/report/say.h"
#include "core/bpf/verify/witness/notes.h"

struct record {
	struct nb_trail trail;
	struct nb_branch *path; /* The last npath branches. */
	uint32_t npath;
};

static void describe_branch(struct record *r, uint32_t pc)
{
	const struct nb_history *h = &r->trail.env->walk.history;
	uint32_t at = h->n - 1, all = r->trail.env->v->finding.way.n, skip = all - r->npath;

	if (at >= skip && at < all && h->steps[at].pc == pc)
		r->path[at - skip].text = nb_trail_branch(&r->trail, r->trail.n - 1);
}

static void record_step(void *arg, struct nb_env *env, const struct nb_state *st, uint32_t pc)
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
	to->access = (struct nb_mem_access){ 0 };
	nb_access_resolve(&env->program, st, &env->program.insns[pc], &to->access);
	memcpy(to->regs, st->frames[st->nframes - 1].regs, sizeof(to->regs));
	t->n++;
	if (t->n - t->first > NB_TRAIL_STEPS)
		t->first = t->n - NB_TRAIL_STEPS;
	if (branched)
		describe_branch(r, before);
}

/* Walk the path to the finding once more, and record each of its steps. */
static void replay(struct nb_env *env, struct record *r)
{
	struct nb_verify_opts *opts = &env->program.opts;
	const struct nb_verify_opts given = *opts;
	struct nb_walk_how how = env->walk.how;

	how.replay = true;
	opts->observe = record_step;
	opts->observe_arg = r;
	nb_explore(env, how);
	*opts = given;
	env->walk.how.replay = false;
}

void nb_path_explain(struct nb_env *env)
{
	struct nb_finding *f = &env->v->finding;
	const uint32_t n = f->way.n > NB_MAX_PATH ? NB_MAX_PATH : f->way.n;
	struct record r = { { env, NULL, 0, 0 }, NULL, n };

	if (f->cls == NB_FIND_COMPLEXITY || f->cls == NB_FIND_MEMORY ||
	    f->cls == NB_FIND_POLICY_WORK || (n && !f->way.steps))
		return;
	nb_more_words(env);
	r.path = nb_arena_array(env->program.arena, n, sizeof(*r.path));
	r.trail.ring = calloc(NB_TRAIL_STEPS, sizeof(*r.trail.ring));
	if (r.path && r.trail.ring) {
		for (uint32_t i = 0; i < n; i++) {
			const struct nb_branch_step *b = &f->way.steps[f->way.n - n + i];

			r.path[i] = (struct nb_branch){ b->pc, b->taken, b->open, "" };
		}
		replay(env, &r);
		f->path = r.path;
		f->npath = n;
		if (env->walk.reached)
			nb_trail_notes(&r.trail, f);
	}
	free(r.trail.ring);
}
