// SPDX-License-Identifier: MIT
/*
 * Bind a program: translate slots to the codes that engines run, and insert
 * the addresses of maps, map values and helper functions. nb_verify has
 * accepted the program. Binding fails only if out of memory, or if this
 * build lacks a helper or map type.
 */
#include "core/bpf/exec/run/exec.h"

#include <assert.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>

#include "core/bpf/exec/run/code.h"
#include "core/bpf/exec/run/helpers.h"
#include "core/bpf/exec/run/interp.h"
#include "core/defs/ctx.h"

/* Return the code for a helper that the engines execute themselves. */
static uint16_t engine_code(int64_t helper)
{
	switch (helper) {
	case NB_HELPER_EACH:
		return NB_CODE_EACH;
	case NB_HELPER_LOOP:
		return NB_CODE_LOOP;
	}
	return NB_OP_CALL_HELPER;
}

static int bind_helper(struct nb_code *c, const struct nb_insn *in, uint32_t pc, struct nb_exec *x,
		       struct nb_err *err)
{
	nb_helper_fn *body;

	c->op = engine_code(in->imm);
	c->imm = (int64_t)(uintptr_t)x;
	if (c->op != NB_OP_CALL_HELPER)
		return 0;
	body = nb_helper_body((int32_t)in->imm);
	if (!body)
		return nb_fail(err, NB_E_NOTSUP, pc,
			       "instruction %" PRIu32 ": no helper has number %" PRId64, pc,
			       in->imm);
	if (in->imm == NB_HELPER_LOOKUP)
		c->op = NB_CODE_LOOKUP;
	c->imm = (int64_t)(uintptr_t)body;
	return 0;
}

static int bind_map(struct nb_code *c, const struct nb_insn *in, uint32_t pc,
		    const struct nb_exec *x, struct nb_err *err)
{
	uint32_t index = (uint32_t)in->imm;
	uint64_t off = (uint64_t)in->imm >> 32;
	unsigned char *base;

	if (index >= x->nmaps)
		return nb_fail(err, NB_E_NOTSUP, pc,
			       "instruction %" PRIu32 ": map %" PRIu32 " of %" PRIu32, pc, index,
			       x->nmaps);
	c->imm = (int64_t)(uintptr_t)x->maps[index];
	if (in->fn != NB_FN_MAP_VALUE)
		return 0;
	base = nb_map_array_base(x->maps[index]);
	if (!base)
		return nb_fail(err, NB_E_NOTSUP, pc,
			       "instruction %" PRIu32
			       ": address of a value of map \"%s\", which is not an array",
			       pc, nb_map_definition(x->maps[index])->name);
	c->imm = (int64_t)((uintptr_t)base + off);
	return 0;
}

static int bind(struct nb_code *c, const struct nb_insn *in, uint32_t pc, struct nb_exec *x,
		struct nb_err *err)
{
	*c = (struct nb_code){ in->op, in->dst, in->src, in->off, in->imm };
	if (nb_insn_calls_helper(in))
		return bind_helper(c, in, pc, x, err);
	if (in->kind != NB_KIND_LDDW)
		return 0;
	c->op = NB_CODE_CONST;
	if (in->traits & NB_INSN_FAR) {
		c->op = NB_CODE_FUNC;
		c->imm = (int64_t)pc + 1 + in->off;
	}
	return nb_insn_names_map(in) ? bind_map(c, in, pc, x, err) : 0;
}

/* Return where the context of @hook has nb_run.state, if the image has replicated maps. */
static uint32_t state_at(const struct nb_image *img, enum nb_hook hook)
{
	bool has = false;

	for (uint32_t i = 0; i < img->nmaps; i++)
		has |= (img->maps[i].tags & NB_MAPF_REPLICATED) != 0;
	if (has && hook == NB_HOOK_TUNER)
		return offsetof(struct ncclbpf_tuner, state);
	return has && hook == NB_HOOK_COLL_API ? offsetof(struct ncclbpf_coll_api, state) : 0;
}

/* Take a reference to each of @n maps; returns false if out of memory. */
static bool take_maps(struct nb_exec *x, struct nb_map *const *maps, uint32_t n)
{
	x->maps = calloc((size_t)n + 1, sizeof(struct nb_map *));
	if (!x->maps)
		return false;
	for (uint32_t i = 0; i < n; i++)
		x->maps[i] = nb_map_get(maps[i]);
	x->nmaps = n;
	return true;
}

int nb_exec_new(struct nb_exec **out, const struct nb_image *img, uint32_t prog,
		struct nb_map *const *maps, struct nb_trace *trace, struct nb_err *err)
{
	const struct nb_prog *p = &img->progs[prog];
	struct nb_insn *insns;
	struct nb_exec *x;
	int rc = 0;

	assert(prog < img->nprogs);
	*out = NULL;
	nb_cpu_find();
	insns = calloc(p->nslots, sizeof(*insns));
	x = calloc(1, sizeof(*x) + p->nslots * sizeof(x->code[0]));
	if (!insns || !x || !take_maps(x, maps, img->nmaps)) {
		rc = nb_fail(err, NB_E_NOMEM, 0,
			     "no memory to bind program \"%s\" of %" PRIu32 " instructions",
			     p->name, p->nslots);
		goto out;
	}
	x->trace = trace;
	x->head.run = nb_exec_interpret;
	x->ncodes = p->nslots;
	rc = nb_decode(insns, p->slots, p->nslots, err);
	for (uint32_t pc = 0; !rc && pc < p->nslots; pc++)
		rc = bind(&x->code[pc], &insns[pc], pc, x, err);
	if (rc)
		goto out;
	x->number = prog;
	x->state_at = state_at(img, p->hook);
	nb_exec_bound(x, 0, 0);
	*out = x;
	x = NULL;
out:
	nb_exec_free(x);
	free(insns);
	return rc;
}

void nb_exec_free(struct nb_exec *x)
{
	if (!x)
		return;
	for (uint32_t i = 0; i < x->nmaps; i++)
		nb_map_put(x->maps[i]);
	free(x->maps);
	if (x->unload)
		x->unload(x);
	free(x);
}

void nb_exec_bound(struct nb_exec *x, uint32_t iteration, uint32_t iter_steps)
{
	x->iteration = iteration;
	x->iterations = nb_loop_limit(iteration, NB_MAX_ITERATIONS);
	x->passes = nb_loop_limit(iteration, NB_MAY_GOTO_PASSES);
	x->iter_steps = iteration ? iter_steps : NB_MAX_ITER_STEPS;
}

static uint32_t least(uint64_t a, uint32_t b)
{
	return a < b ? (uint32_t)a : b;
}

void nb_exec_limit(struct nb_exec *x, uint64_t iterations, uint64_t passes)
{
	assert(!x->jit && x->iteration);
	x->iterations = least(iterations / x->iteration, x->iterations);
	x->passes = least(passes / x->iteration, x->passes);
}

uint32_t nb_exec_iteration(const struct nb_exec *x)
{
	return x->iteration;
}
