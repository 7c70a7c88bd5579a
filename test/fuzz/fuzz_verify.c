// SPDX-License-Identifier: MIT
// tier: quick  load: cpu  limit: 600
// Bytes as a program: decode, verify with small limits, and run what is
// accepted in the interpreter. The context is a heap block of its exact size,
// so that a sanitizer sees an access outside; the stack and the maps are the
// engine's own. Whatever the bytes are, this must neither crash nor hang, a
// refused program must have words, and a verdict must not depend on the run.
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/bpf/exec/run/exec.h"
#include "core/bpf/map/map.h"
#include "core/defs/ctx.h"
#include "test/unit/verify_image.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct nb_map *maps[CASE_MAPS];

static void make_maps(void)
{
	for (unsigned i = 0; i < CASE_MAPS && !maps[i]; i++) {
		const struct nb_map_spec *s = &case_maps[i];
		struct nb_map_def def = { s->name,	 s->type,	 s->key_size,
					  s->value_size, s->max_entries, s->flags };
		struct nb_err err;

		if (nb_map_new(&maps[i], &def, &err))
			abort();
		if (s->init)
			memcpy(nb_map_array_base(maps[i]), s->init, s->value_size);
	}
}

static void run(const struct nb_image *img, const struct nb_verdict *v)
{
	uint32_t size = nb_spec_hook(NB_HOOK_TUNER)->ctx_size;
	uint8_t *ctx = calloc(1, sizeof(struct ncclbpf_tuner));
	struct nb_exec *x = NULL;
	struct nb_err err;

	make_maps();
	if (ctx && !nb_exec_new(&x, img, 0, maps, NULL, &err)) {
		nb_exec_bound(x, v->runs.iteration, v->runs.iter_steps);
		for (unsigned i = 0; i < 3; i++) {
			memset(ctx, (int)(i * 0x55), size);
			nb_exec_run(x, ctx, size);
		}
	}
	nb_exec_free(x);
	free(ctx);
}

/* The words of a verdict, into @b. */
static void words(const struct nb_verdict *v, const struct nb_image *img, struct nb_buf *b)
{
	struct nb_json j;
	struct nb_err err;

	nb_verdict_text(v, img, 0, b);
	nb_json_init(&j, b);
	nb_verdict_json(v, img, 0, &j);
	if (v->accepted)
		return;
	if (nb_verdict_err(v, img, 0, &err) != NB_E_VERIFY || !err.text[0])
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct case_image c;
	struct nb_verify_opts o = { .max_insns = 5000, .max_memory = 8 << 20 };
	struct nb_verdict *v = NULL;
	struct nb_err err;
	struct nb_buf b;
	uint32_t n;

	if (size < 9)
		return 0;
	/* The first byte turns options on and off. */
	o.coherence_off = data[0] & 1;
	n = (uint32_t)((size - 1) / NB_SLOT_SIZE);
	n = n > 512 ? 512 : n;
	memcpy(c.slots, data + 1, n * sizeof(c.slots[0]));
	case_init(&c, n);
	if (nb_verify(&v, &c.img, 0, &o, &err))
		return 0;
	nb_buf_init(&b, 1 << 20);
	words(v, &c.img, &b);
	nb_buf_fini(&b);
	if (v->accepted)
		run(&c.img, v);
	nb_verdict_free(v);
	return 0;
}
