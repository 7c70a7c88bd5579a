// SPDX-License-Identifier: MIT
/*
 * Chains: the programs of a generation compiled together, and the code that
 * runs them in order. interpret() below defines the meaning, and runs if
 * nothing is compiled. A chain with interpreted programs is compiled too
 * and calls the interpreter for them.
 */
#include "core/exec/jit/chain.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/exec/run/code.h"
#include "core/exec/jit/compile.h"
#include "core/exec/jit/jit.h"
#include "core/exec/jit/perf_map.h"

struct nb_chain {
	struct nb_chain_head head;
	/* The machine code; NULL if the chain is interpreted. */
	struct nb_jit *jit;
	struct nb_err why; /* why the compilation failed */
	struct nb_chain_shape shape;
	uint32_t n;
	const struct nb_exec *x[]; /* The programs that run, in their order. */
};

static int interpret(const struct nb_chain *c, void *ctx, uint64_t *overrides)
{
	const unsigned char *answer = (unsigned char *)ctx + c->shape.answer;
	unsigned char before[NB_CHAIN_ANSWER];
	int by = -1;

	for (uint32_t i = 0; i < c->n; i++) {
		memcpy(before, answer, sizeof(before));
		nb_exec_run(c->x[i], ctx, c->shape.ctx_size);
		if (!memcmp(before, answer, sizeof(before)))
			continue;
		__atomic_store_n(
			&overrides[i],
			__atomic_load_n(&overrides[i], __ATOMIC_RELAXED) + 1,
			__ATOMIC_RELAXED);
		by = (int)i;
	}
	return by;
}

/* Compile the chain, and the programs that do not ask for the interpreter.
 * If a compilation fails, all programs stay interpreted. */
static void compile(struct nb_chain *c, struct nb_jit_link *link,
		    const struct nb_chain_prog *prog, uint32_t n)
{
	const struct nb_jit_chain chain = { .link = link,
					    .n = n,
					    .ctx_size = c->shape.ctx_size,
					    .answer = c->shape.answer };
	bool any = false;

	for (uint32_t i = 0; i < n; i++) {
		link[i] = (struct nb_jit_link){ .x = prog[i].x,
						.aux = prog[i].aux,
						.compile = !prog[i].interpret,
						.runs = prog[i].runs };
		any |= link[i].compile;
	}
	if (!any || nb_jit_compile_chain(&c->jit, link, &chain, &c->why))
		return;
	memcpy(&c->head.run, &c->jit->entry, sizeof(c->head.run));
	memcpy(&c->head.touch, &c->jit->pages->code, sizeof(c->head.touch));
	for (uint32_t i = 0; i < n; i++)
		if (link[i].jit)
			nb_exec_set_code(prog[i].x, link[i].jit);
}

int nb_chain_new(struct nb_chain **out, const struct nb_chain_prog *prog,
		 uint32_t n, const struct nb_chain_shape *shape,
		 struct nb_err *err)
{
	struct nb_chain *c =
		calloc(1, sizeof(*c) + n * sizeof(const struct nb_exec *));
	struct nb_jit_link *link = calloc((size_t)n + 1, sizeof(*link));

	*out = NULL;
	if (!c || !link) {
		free(c);
		free(link);
		return nb_fail(err, NB_E_NOMEM, 0,
			       "no memory for a chain of %" PRIu32 " programs",
			       n);
	}
	c->head.run = interpret;
	c->shape = *shape;
	for (uint32_t i = 0; i < n; i++)
		if (prog[i].runs)
			c->x[c->n++] = prog[i].x;
	compile(c, link, prog, n);
	free(link);
	*out = c;
	return 0;
}

void nb_chain_free(struct nb_chain *c)
{
	if (!c)
		return;
	nb_jit_free(c->jit);
	free(c);
}

int nb_chain_publish(const struct nb_chain *c, struct nb_err *err)
{
	static const struct nb_func func = { .start = 0 };
	static const struct nb_prog prog = { .name = "chain",
					     .funcs = &func,
					     .nfuncs = 1 };
	static const struct nb_image img = { .name = "ncclbpf",
					     .progs = &prog,
					     .nprogs = 1 };

	return c->jit ? nb_perf_map_add(c->jit, &img, 0, err) : 0;
}

const char *nb_chain_uncompiled(const struct nb_chain *c)
{
	return c->why.code ? c->why.text : NULL;
}

size_t nb_chain_compiled(const struct nb_chain *c)
{
	return c->jit ? c->jit->size : 0;
}
