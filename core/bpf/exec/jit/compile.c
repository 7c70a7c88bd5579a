// SPDX-License-Identifier: MIT
/* Compile a bound program, name its machine code for perf, and free the
 * code. A program without machine code is interpreted. */
#include "core/bpf/exec/jit/compile.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

#include "core/bpf/exec/jit/jit.h"
#include "core/bpf/exec/jit/perf_map.h"
#include "core/bpf/exec/run/interp.h"

static void exec_unload(struct nb_exec *x)
{
	nb_jit_free(x->jit);
	x->jit = NULL;
}

/* Run @jit from now on; @x takes ownership of it. */
static void exec_load(struct nb_exec *x, struct nb_jit *jit)
{
	assert(!x->jit);
	x->jit = jit;
	x->unload = exec_unload;
	x->head.run = jit->entry;
}

int nb_exec_compile(struct nb_exec *x, const uint8_t *aux, struct nb_err *err)
{
	struct nb_jit *jit;
	int rc = nb_jit_compile(&jit, x, aux, err);

	if (!rc)
		exec_load(x, jit);
	return rc;
}

int nb_exec_compile_all(const struct nb_exec_item *item, uint32_t n, struct nb_err *err)
{
	struct nb_jit **jit = calloc(n, sizeof(struct nb_jit *));
	int rc;

	if (!jit)
		return nb_fail(err, NB_E_NOMEM, 0, "no memory to compile %" PRIu32 " programs", n);
	rc = nb_jit_compile_all(jit, item, n, err);
	for (uint32_t i = 0; !rc && i < n; i++)
		exec_load(item[i].x, jit[i]);
	free(jit);
	return rc;
}

int nb_exec_publish(const struct nb_exec *x, const struct nb_image *img, uint32_t prog,
		    struct nb_err *err)
{
	return x->jit ? nb_perf_map_add(x->jit, img, prog, err) : 0;
}

void nb_exec_interpret_again(struct nb_exec *x)
{
	exec_unload(x);
	x->head.run = nb_exec_interpret;
}

size_t nb_exec_compiled(const struct nb_exec *x)
{
	return x->jit ? x->jit->size : 0;
}
