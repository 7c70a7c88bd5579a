// SPDX-License-Identifier: MIT
// Binding: slots to the codes that nb_exec_run executes, with the addresses of
// maps, map values and helper bodies put in. The program was accepted by
// nb_verify; what can still fail here is memory, or a helper or map that this
// build lacks.
#include "core/exec/exec.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

#include "core/exec/code.h"
#include "core/exec/jit.h"

enum { HELPER_LOOKUP = 1 };

static int bind_helper(struct nb_code *c, const struct nb_insn *in, uint32_t pc,
		       struct nb_err *err)
{
	nb_helper_fn *body = nb_helper_body((int32_t)in->imm);

	if (!body)
		return nb_fail(err, NB_E_NOTSUP, pc,
			       "instruction %" PRIu32 ": no helper has number "
			       "%" PRId64,
			       pc, in->imm);
	if (in->imm == HELPER_LOOKUP)
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
			       "instruction %" PRIu32 ": map %" PRIu32
			       " of %" PRIu32,
			       pc, index, x->nmaps);
	c->imm = (int64_t)(uintptr_t)x->maps[index];
	if (in->fn == NB_FN_MAP)
		return 0;
	base = nb_map_array_base(x->maps[index]);
	if (!base)
		return nb_fail(err, NB_E_NOTSUP, pc,
			       "instruction %" PRIu32
			       ": address of a value of map \"%s\", which is "
			       "not an array",
			       pc, nb_map_definition(x->maps[index])->name);
	c->imm = (int64_t)((uintptr_t)base + off);
	return 0;
}

static int bind(struct nb_code *c, const struct nb_insn *in, uint32_t pc,
		const struct nb_exec *x, struct nb_err *err)
{
	*c = (struct nb_code){ in->op, in->dst, in->src, in->off, in->imm };
	if (in->op == NB_OP_CALL_HELPER)
		return bind_helper(c, in, pc, err);
	if (in->kind != NB_KIND_LDDW)
		return 0;
	c->op = NB_CODE_CONST;
	if (in->fn == NB_FN_FUNC)
		c->imm = (int64_t)pc + 1 + in->off;
	return in->fn == NB_FN_MAP || in->fn == NB_FN_MAP_VALUE
		       ? bind_map(c, in, pc, x, err)
		       : 0;
}

/* References to @n maps; false when memory is short. */
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
		struct nb_map *const *maps, struct nb_trace *trace,
		struct nb_err *err)
{
	const struct nb_prog *p = &img->progs[prog];
	struct nb_insn *insns;
	struct nb_exec *x;
	int rc = 0;

	assert(prog < img->nprogs);
	*out = NULL;
	insns = calloc(p->nslots, sizeof(*insns));
	x = calloc(1, sizeof(*x) + p->nslots * sizeof(x->code[0]));
	if (!insns || !x || !take_maps(x, maps, img->nmaps)) {
		rc = nb_fail(err, NB_E_NOMEM, 0,
			     "no memory to bind program \"%s\" of %" PRIu32
			     " instructions",
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
	nb_jit_free(x->jit);
	free(x);
}

int nb_exec_compile(struct nb_exec *x, const uint8_t *aux, struct nb_err *err)
{
	int rc;

	assert(!x->jit);
	rc = nb_jit_compile(&x->jit, x, aux, err);
	if (!rc)
		x->head.run = x->jit->entry;
	return rc;
}

size_t nb_exec_compiled(const struct nb_exec *x)
{
	return x->jit ? x->jit->size : 0;
}
