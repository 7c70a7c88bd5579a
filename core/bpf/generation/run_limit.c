// SPDX-License-Identifier: MIT
/* Bound the time of a decision: all programs on one hook share one limit. */
#include "core/bpf/generation/run_limit.h"

#include <inttypes.h>
#include <stdio.h>

#include "core/bpf/exec/run/exec.h"
#include "core/bpf/generation/gen.h"

/* A program on the hook, with its share of the limit. */
struct member {
	struct nb_exec *x;
	const struct nb_policy *policy;
	const struct nb_run_bounds *runs;
	uint32_t prog;
	/*
	 * Weighted instructions. @sure: those that each run executes.
	 * @iterations: the part of @sure in loops with a constant bound.
	 */
	uint64_t sure, iterations;
};

struct chain {
	struct member m[NB_GEN_MAX_PROGS];
	/*
	 * Number of programs, and number of the kinds of loops that share the
	 * rest of the limit.
	 */
	uint32_t n, kinds;
	uint64_t sure, limit;
};

static void add_member(struct chain *c, const struct nb_gen *g, const struct nb_gen_prog *gp)
{
	const struct nb_policy *p = g->policy[gp->policy].policy;
	struct member *m = &c->m[c->n];
	uint32_t iteration = nb_exec_iteration(gp->exec);

	if (!iteration)
		/* Programs that were not verified occur only in tests. */
		return;
	*m = (struct member){ gp->exec, p, &p->effort[gp->prog].runs, gp->prog, 0, 0 };
	m->iterations = nb_runs_loops(m->runs, iteration);
	m->sure = nb_runs_path(m->runs, iteration) + m->iterations;
	c->sure += m->sure;
	c->kinds += m->runs->passes + m->runs->loops;
	c->limit = p->max_run ? p->max_run : NB_RUN_LIMIT;
	c->n++;
}

/*
 * Name the costliest loop, for example "; its costliest loop, at
 * ring.bpf.c:31, takes 98 % of that: 10000 iterations of 9". The text is
 * empty if there is no loop.
 */
static void name_loop(char *text, size_t size, const struct nb_prog *p,
		      const struct nb_loop_report *l)
{
	const struct nb_line *line;
	char where[80];

	text[0] = '\0';
	if (l->pc >= p->nslots)
		return;
	line = nb_prog_line(p, l->pc);
	if (line)
		snprintf(where, sizeof(where), "%.64s:%" PRIu32, line->file, line->line);
	else
		snprintf(where, sizeof(where), "slot %" PRIu32, l->pc);
	snprintf(text, size,
		 "; its costliest loop, at %s, takes %" PRIu32 " %% of its time: %" PRIu32
		 " iterations of %" PRIu32,
		 where, l->share, l->iterations, l->length);
}

static int fail_run_limit(const struct chain *c, uint32_t hook, struct nb_err *err)
{
	const struct member *worst = &c->m[0];
	const struct nb_prog *p;
	char loop[192];

	for (uint32_t i = 1; i < c->n; i++)
		if (c->m[i].sure > worst->sure)
			worst = &c->m[i];
	p = &worst->policy->img->progs[worst->prog];
	name_loop(loop, sizeof(loop), p, &worst->runs->loop);
	nb_fail(err, NB_E_LIMIT, 0,
		"the policies on hook %s may take %" PRIu64 " weighted instructions (about %" PRIu64
		" us) together, at most %" PRIu64
		" are allowed; policy %.64s, program %.64s, takes %" PRIu64 "%s",
		nb_spec_hook((enum nb_hook)hook)->word, c->sure, c->sure / 1000, c->limit,
		worst->policy->img->name, p->name, worst->sure, loop);
	return nb_hint(err, "make its loops shorter, use fewer policies, "
			    "or raise NCCLBPF_MAX_RUN on all ranks");
}

static int limit_hook(const struct nb_gen *g, uint32_t hook, struct nb_err *err)
{
	struct chain c = { .limit = NB_RUN_LIMIT };
	uint64_t rest;

	for (uint32_t i = 0; hook == NB_HOOK_TUNER && i < g->nprogs; i++)
		add_member(&c, g, &g->prog[i]);
	for (uint32_t i = 0; hook != NB_HOOK_TUNER && i < g->nevents; i++)
		if (g->event[i].hook == hook)
			add_member(&c, g, &g->event[i]);
	if (c.sure > c.limit)
		return fail_run_limit(&c, hook, err);
	rest = c.kinds ? (c.limit - c.sure) / c.kinds : 0;
	/* Each loop can make at least one iteration: nb_runs_path counted
	 * it. */
	for (uint32_t i = 0; i < c.n; i++)
		nb_exec_limit(c.m[i].x, nb_exec_iteration(c.m[i].x) + c.m[i].iterations + rest,
			      nb_exec_iteration(c.m[i].x) + rest);
	return 0;
}

int nb_run_limit(struct nb_gen *g, struct nb_err *err)
{
	int rc = 0;

	for (uint32_t h = 0; !rc && h < NB_NHOOKS; h++)
		if (h != NB_HOOK_CONTROLLER)
			rc = limit_hook(g, h, err);
	return rc;
}
