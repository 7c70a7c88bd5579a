// SPDX-License-Identifier: MIT
/* Compile a bound program, name its machine code for perf, and free the
 * code. A program without machine code is interpreted. */
#include "core/exec/jit/compile.h"

#include <assert.h>

#include "core/exec/jit/jit.h"
#include "core/exec/jit/perf_map.h"
#include "core/exec/run/interp.h"

static void exec_unload(struct nb_exec *x)
{
	nb_jit_free(x->jit);
	x->jit = NULL;
}

int nb_exec_compile(struct nb_exec *x, const uint8_t *aux, struct nb_err *err)
{
	int rc;

	assert(!x->jit);
	rc = nb_jit_compile(&x->jit, x, aux, err);
	if (!rc)
		nb_exec_set_code(x, x->jit);
	return rc;
}

void nb_exec_set_code(struct nb_exec *x, struct nb_jit *jit)
{
	x->jit = jit;
	x->unload = exec_unload;
	x->head.run = jit->entry;
	if (x->links)
		x->links->link[x->number].body = jit->body;
}

int nb_exec_publish(const struct nb_exec *x, const struct nb_image *img,
		    uint32_t prog, struct nb_err *err)
{
	return x->jit ? nb_perf_map_add(x->jit, img, prog, err) : 0;
}

void nb_exec_interpret_again(struct nb_exec *x)
{
	exec_unload(x);
	x->head.run = nb_exec_interpret;
	if (x->links)
		x->links->link[x->number].body = NULL;
}

size_t nb_exec_compiled(const struct nb_exec *x)
{
	return x->jit ? x->jit->size : 0;
}
