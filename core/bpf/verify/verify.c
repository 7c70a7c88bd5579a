// SPDX-License-Identifier: MIT
/*
 * Entry of the verifier: decode, build the control-flow graph, walk all
 * behaviours for safety, then walk them again with coherence labels if the hook
 * requires coherence. The second walk needs the stores that the first walk
 * found, so the two walks cannot be merged.
 */
#include "core/bpf/verify/verify.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/bpf/verify/coherence/control_dep.h"
#include "core/bpf/verify/engine/explore.h"
#include "core/bpf/verify/engine/loop_cost.h"
#include "core/bpf/verify/feature/iter.h"
#include "core/bpf/verify/flow/cfg.h"
#include "core/bpf/verify/report/refuse.h"
#include "core/bpf/verify/state/budget.h"
#include "core/bpf/verify/state/env.h"
#include "core/bpf/verify/state/found.h"
#include "core/bpf/verify/witness/witness.h"

enum { MAX_INSNS = 1000000, MAX_MEMORY = 64 << 20 };

/* Check that the maps which the program names exist; the image reader
 * checks this too. */
static int check_operands(struct nb_env *env)
{
	for (uint32_t pc = 0; pc < env->program.n; pc++) {
		const struct nb_insn *insn = &env->program.insns[pc];

		if (insn->kind != NB_KIND_LDDW || !nb_insn_names_map(insn))
			continue;
		if ((uint32_t)insn->imm >= env->program.img->nmaps)
			return nb_refuse(env, NB_RULE_MAP_INDEX,
					 &(struct nb_refusal){ .pc = pc,
							       .reg = insn->dst,
							       .limit = env->program.img->nmaps,
							       .count = (uint32_t)insn->imm });
		if (insn->fn == NB_FN_MAP_VALUE &&
		    !nb_map_has_address(&env->program.img->maps[(uint32_t)insn->imm]))
			return nb_refuse(env, NB_RULE_MAP_ADDRESS,
					 &(struct nb_refusal){ .pc = pc,
							       .reg = insn->dst,
							       .map = (uint32_t)insn->imm });
	}
	return 0;
}

static int decode(struct nb_env *env)
{
	struct nb_err err = { 0 };
	struct nb_insn *insns;
	int rc;

	if (!env->program.prog->nslots || env->program.prog->nslots > NB_IMAGE_MAX_SLOTS)
		return nb_refuse_program(env, NB_RULE_SLOTS, .limit = NB_IMAGE_MAX_SLOTS,
					 .count = env->program.prog->nslots);
	insns = nb_arena_array(env->program.arena, env->program.prog->nslots, sizeof(*insns));
	if (!insns)
		return NB_E_NOMEM;
	rc = nb_decode(insns, env->program.prog->slots, env->program.prog->nslots, &err);
	if (rc == NB_E_INSN)
		return nb_refuse_program(env, NB_RULE_ENCODING, .pc = err.at, .name = err.text,
					 .hint = err.hint);
	if (rc)
		return rc;
	env->program.insns = insns;
	env->program.n = env->program.prog->nslots;
	return check_operands(env);
}

static int prepare(struct nb_env *env)
{
	return nb_loops_find(&env->program) && nb_found_new(&env->program, &env->facts)
		       ? 0
		       : NB_E_NOMEM;
}

/* Does the program have loops that need a limit when the program runs? */
static bool has_bounded_loops(const struct nb_program *program)
{
	for (uint32_t pc = 0; pc < program->n; pc++)
		if (program->insns[pc].kind == NB_KIND_MAY_GOTO ||
		    nb_calls_back(&program->insns[pc]) || nb_is_iter_next(&program->insns[pc]))
			return true;
	return false;
}

static int walk_as(struct nb_env *env, struct nb_walk_how how, enum nb_walk_mode mode)
{
	how.mode = mode;
	memset(&env->v->finding, 0, sizeof(env->v->finding));
	return nb_explore(env, how);
}

static bool is_cost(const struct nb_finding *f)
{
	return f->cls == NB_FIND_COMPLEXITY || f->cls == NB_FIND_MEMORY ||
	       f->cls == NB_FIND_POLICY_WORK;
}

/*
 * A walk that widens less may report the same finding with the numbers of a
 * real run.
 */
static bool names_cause(const struct nb_finding *old, const struct nb_finding *now)
{
	return !is_cost(now) && (is_cost(old) || (old->cls == now->cls && old->pc == now->pc));
}

/*
 * Walk in one mode after another until one accepts the program. Loops that only
 * a run-time limit ends need widening, so that the walk ends; other loops need
 * exact values. A program that any mode accepts is safe.
 */
static int walk_modes(struct nb_env *env, struct nb_walk_how how)
{
	static const enum nb_walk_mode others[] = { NB_WALK_EXACT, NB_WALK_LATE };
	struct nb_finding told;
	enum nb_walk_mode by = NB_WALK_WIDEN;
	int rc;

	if (!has_bounded_loops(&env->program))
		return walk_as(env, how, NB_WALK_EXACT);
	rc = walk_as(env, how, NB_WALK_WIDEN);
	told = env->v->finding;
	for (unsigned i = 0; i < 2 && rc == NB_E_VERIFY; i++) {
		rc = walk_as(env, how, others[i]);
		if (rc == NB_E_VERIFY && names_cause(&told, &env->v->finding)) {
			told = env->v->finding;
			by = others[i];
		}
	}
	if (rc == NB_E_VERIFY) {
		env->v->finding = told;
		env->walk.how.mode = by;
	}
	return rc;
}

static int walk_program(struct nb_env *env, struct nb_walk_how how)
{
	int rc = walk_modes(env, how);

	if (!rc)
		nb_found_keep(env);
	else if (rc == NB_E_VERIFY)
		nb_path_explain(env);
	return rc;
}

static int check_stack_sum(struct nb_env *env)
{
	uint32_t chain[NB_MAX_FRAMES], n, bytes;

	bytes = nb_cfg_stack(env, chain, &n);
	env->v->stats.stack_depth = bytes;
	if (bytes <= NB_STACK_SIZE)
		return 0;
	return nb_refuse_program(env, NB_RULE_STACK_DEPTH,
				 .pc = env->program.cfg.funcs[chain[n - 1]].start,
				 .limit = NB_STACK_SIZE, .size = bytes, .chain = chain, .count = n);
}

/* Record which loop budgets a run needs, and how much of them. */
static void note_loops(struct nb_env *env)
{
	struct nb_run_bounds *r = &env->v->runs;
	uint8_t uses = 0;

	for (uint32_t pc = 0; pc < env->program.n; pc++)
		uses |= nb_budget_of(&env->program.insns[pc]);
	r->passes = uses & NB_BUDGET_PASSES;
	r->reads_time = env->facts.reads_time;
	r->loops = uses & NB_BUDGET_ITERATIONS;
	r->iterations = env->walk.how.few_iterations ? 0 : env->facts.needs.iterations;
	nb_loops_fill(env);
}

/*
 * Check that the code between two counted iterations, and all of this code
 * together, runs a bounded number of instructions.
 */
static int check_length(struct nb_env *env)
{
	struct nb_run_bounds *r = &env->v->runs;

	r->first = env->facts.length.first;
	r->iteration = env->facts.length.iteration > 1 ? env->facts.length.iteration : 1;
	r->iter_steps = env->facts.needs.iter_steps;
	note_loops(env);
	if (r->iteration > NB_MAX_ITERATION_INSNS || r->first > NB_MAX_ITERATION_INSNS)
		return nb_refuse_program(env, NB_RULE_RUN_LENGTH, .pc = env->facts.length.call_pc,
					 .limit = NB_MAX_ITERATION_INSNS,
					 .count = env->facts.length.call);
	if (r->iter_steps > nb_loop_limit(r->iteration, r->iter_steps))
		return nb_refuse_program(env, NB_RULE_RUN_ITER_STEPS,
					 .pc = env->facts.needs.iter_steps_pc,
					 .limit = nb_loop_limit(r->iteration, r->iter_steps),
					 .size = r->iteration, .count = r->iter_steps);
	return 0;
}

/* Can the returned value differ between ranks? Not if all exits return the
 * same constant. */
static int check_verdict(struct nb_env *env)
{
	if (!env->walk.how.labels || env->facts.exits.local == NB_NO_PC || !env->facts.exits.mixed)
		return 0;
	nb_refuse(env, NB_RULE_LOCAL_VERDICT,
		  &(struct nb_refusal){ .pc = env->facts.exits.local,
					.where = env->facts.exits.from });
	env->v->finding.way = env->facts.exits.way;
	nb_path_explain(env);
	return NB_E_VERIFY;
}

static int walk_labels(struct nb_env *env, bool few_iterations)
{
	int rc = walk_program(
		env, (struct nb_walk_how){ .labels = true, .few_iterations = few_iterations });

	return rc ? rc : check_length(env);
}

static int judge(struct nb_env *env)
{
	int rc;

	if ((rc = decode(env)) || (rc = nb_cfg_build(env)) || (rc = prepare(env)) ||
	    (rc = walk_program(env, (struct nb_walk_how){ 0 })) || (rc = check_stack_sum(env)) ||
	    (rc = check_length(env)))
		return rc;
	if (!nb_program_is_coherent(&env->program) || !env->facts.saw_local)
		return 0;
	if (!nb_region_init(env))
		return NB_E_NOMEM;
	rc = walk_labels(env, false);
	/* Iterations are so long that a run is granted fewer than its loops
	 * need. */
	if (!rc && nb_budget_needs_more(env))
		rc = walk_labels(env, true);
	return rc ? rc : check_verdict(env);
}

static void fill_aux(struct nb_env *env)
{
	for (uint32_t pc = 0; pc < env->program.n; pc++) {
		const struct nb_insn *insn = &env->program.insns[pc];

		if (insn->traits & NB_INSN_DIVIDE && env->facts.aux[pc] & NB_AUX_REACHED &&
		    !(env->facts.noted[pc] & NB_NOTED_ZERO))
			env->facts.aux[pc] |= NB_AUX_NONZERO;
	}
}

/* Return @opts, which may be NULL, with all limits set. */
static struct nb_verify_opts limited(const struct nb_verify_opts *opts)
{
	struct nb_verify_opts o = { 0 };

	if (opts)
		o = *opts;
	if (!o.max_insns)
		o.max_insns = MAX_INSNS;
	if (!o.max_memory)
		o.max_memory = MAX_MEMORY;
	return o;
}

static int fill_verdict(struct nb_env *env)
{
	int rc = judge(env);

	nb_walk_forget(env);
	/* The walk failed without a finding, because it ran out of memory. */
	if (rc == NB_E_VERIFY && !env->v->finding.cls)
		rc = NB_E_NOMEM;
	if (rc == NB_E_NOMEM && env->program.arena->at_limit)
		/*
		 * The limit of the options was reached; the machine has more
		 * memory.
		 */
		rc = nb_refuse_program(env, NB_RULE_MEMORY, .limit = env->program.opts.max_memory,
				       .count = env->program.prog->nslots);
	if (rc && rc != NB_E_VERIFY)
		return rc;
	env->v->accepted = !rc;
	env->v->aux = env->facts.aux;
	if (!rc) {
		fill_aux(env);
		nb_notes_fill(env);
	}
	return 0;
}

static int verify_prog(struct nb_verdict *v, const struct nb_image *img, const struct nb_prog *prog,
		       const struct nb_verify_opts *opts)
{
	struct nb_env env = {
		.program = { .img = img,
			     .prog = prog,
			     .hook = opts->hook ? opts->hook : nb_spec_hook(prog->hook),
			     .opts = *opts,
			     .arena = &v->arena },
		.v = v,
	};

	return fill_verdict(&env);
}

int nb_verify(struct nb_verdict **out, const struct nb_image *img, uint32_t prog,
	      const struct nb_verify_opts *opts, struct nb_err *err)
{
	const struct nb_verify_opts all = limited(opts);
	uint64_t start = nb_now_ns();
	struct nb_verdict *v;
	int rc;

	*out = NULL;
	if (prog >= img->nprogs)
		return nb_fail(err, NB_E_BUG, prog, "program %u of %u", prog, img->nprogs);
	v = calloc(1, sizeof(*v));
	if (!v)
		return nb_fail(err, NB_E_NOMEM, 0, "no memory to verify %s", img->progs[prog].name);
	nb_arena_init(&v->arena, all.max_memory);
	v->runs.loop.pc = NB_NO_LOOP;
	rc = verify_prog(v, img, &img->progs[prog], &all);
	v->stats.memory = v->arena.used;
	v->stats.time_ns = nb_now_ns() - start;
	if (rc) {
		nb_verdict_free(v);
		return rc == NB_E_NOMEM ? nb_fail(err, rc, 0, "no memory to verify %s (%u slots)",
						  img->progs[prog].name, img->progs[prog].nslots)
					: nb_fail(err, rc, 0, "verifying %s failed with error %d",
						  img->progs[prog].name, rc);
	}
	*out = v;
	return 0;
}

void nb_verdict_free(struct nb_verdict *v)
{
	if (!v)
		return;
	nb_arena_fini(&v->arena);
	free(v);
}
