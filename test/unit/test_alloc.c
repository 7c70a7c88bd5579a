// SPDX-License-Identifier: MIT
// tier: quick  load: cpu  limit: 600
// No memory at any point: each allocation of loading a policy, of making maps,
// a generation and machine code, and of changing a map fails in turn. Every
// time an error comes back or the work is done all the same, nothing is leaked,
// and the next try works.
#include "test/unit/unit.h"
#include "test/unit/map_spec.h"

#include <stdio.h>

#include "core/bpf/exec/run/exec.h"
#include "core/bpf/isa/insn.h"
#include "core/load/object.h"
#include "core/bpf/map/map.h"
#include "core/ncclbpf.h"
#include "core/defs/ctx.h"
#include "test/unit/fail_alloc.h"
#include "test/unit/made.h"
#include "test/unit/asm.h"

/* libcheck allocates itself, so what does not hold is kept for later. */
static bool wrong;

static void sure(bool ok)
{
	wrong |= !ok;
}

/* ---- the work ---- */

static const struct nb_map_spec maps[] = {
	MAP_SPEC("limits", ARRAY, 4, 8, 2, NB_MAPF_COHERENT),
	MAP_SPEC("seen", HASH, 8, 8, 8, 0),
	MAP_SPEC("percpu", PERCPU_ARRAY, 4, 8, 2, 0),
};

/* Both walks of the verifier, branches, a loop, map accesses. */
static const char text[] = "mov %r6, %r1\nstdw [%r10-8], 0\n"
			   "mov %r2, %r10\nadd %r2, -8\nlddw %r1, 0x7001\n"
			   "call 1\njeq %r0, 0, l\nldxw %r1, [%r0]\n"
			   "add %r1, 1\nstxw [%r0], %r1\nl:\n"
			   "mov %r7, 0\nm:\nldxdw %r1, [%r6+8]\n"
			   "jgt %r1, 9, n\nadd %r7, 1\nn:\nadd %r7, 1\n"
			   "jlt %r7, 8, m\nmov %r1, 3\n"
			   "stxw [%r6+76], %r1\nmov %r0, 0\nexit\n";

static struct nb_buf image, object;

static int load_image(struct nb_err *err)
{
	struct nb_policy *p = NULL;
	int rc = nb_policy_new(&p, image.data, image.size, NULL, err);

	sure(!rc == !!p);
	nb_policy_put(p);
	return rc;
}

static int load_refused(struct nb_err *err)
{
	struct nb_buf why = { 0 }, json = { 0 };
	struct nb_policy_opts o = { .verify.max_insns = 5,
				    .finding_text = &why,
				    .finding_json = &json };
	struct nb_policy *p = NULL;
	int rc;

	nb_buf_init(&why, 0);
	nb_buf_init(&json, 0);
	rc = nb_policy_new(&p, image.data, image.size, &o, err);
	sure(!p);
	nb_buf_fini(&why);
	nb_buf_fini(&json);
	return rc == NB_E_VERIFY ? 0 : rc;
}

static int run(struct nb_gen *g)
{
	struct ncclbpf_tuner ctx = { .bytes = 4 };
	struct nb_gen_count count = { 0 };

	nb_gen_run_tuner(g, &ctx, &count);
	sure(ctx.channels == 3);
	return 0;
}

static int change(struct nb_gen **g, struct nb_err *err)
{
	const uint32_t key = 1;
	const uint64_t value = 7;
	const struct nb_map_op op = { .key = &key, .value = &value };
	struct nb_gen *other = NULL;
	int rc = nb_gen_changes(&other, *g, &(struct nb_gen_change){ 0, 0, &op, 1 }, 1, err);

	sure(!rc == !!other);
	if (rc)
		return rc;
	nb_gen_put(*g);
	*g = other;
	return 0;
}

static int make_generation(struct nb_err *err)
{
	struct nb_policy *p = NULL;
	struct nb_gen *g = NULL, *copy = NULL;
	int rc = nb_policy_new(&p, image.data, image.size, NULL, err);

	if (!rc) {
		rc = nb_gen_new(&g, &p, 1, NULL, err);
		sure(!rc == !!g);
	}
	if (!rc)
		rc = change(&g, err);
	if (!rc) {
		rc = nb_gen_rehearsal(&copy, g, err);
		sure(!rc == !!copy);
	}
	if (!rc)
		rc = run(g);
	nb_gen_put(copy);
	nb_gen_put(g);
	nb_policy_put(p);
	return rc;
}

static int read_object(struct nb_err *err)
{
	struct nb_buf out;
	int rc;

	nb_buf_init(&out, 0);
	rc = nb_object_image(&out, object.data, object.size, "p", err);
	sure(!rc || !out.size);
	nb_buf_fini(&out);
	return rc;
}

/* A map of each type, and a copy of it; the limit is met without memory. */
static int make_maps(struct nb_err *err)
{
	static const struct {
		uint32_t type, key, value, entries, flags;
	} row[] = {
		{ NB_MAP_HASH, 8, 8, 4, 0 },	     { NB_MAP_ARRAY, 4, 8, 4, 0 },
		{ NB_MAP_PERCPU_ARRAY, 4, 8, 4, 0 }, { NB_MAP_LRU_HASH, 8, 8, 4, 0 },
		{ NB_MAP_RINGBUF, 0, 0, 4096, 0 },
	};
	int rc = 0;

	for (size_t i = 0; !rc && i < sizeof(row) / sizeof(row[0]); i++) {
		const struct nb_map_def def = { "m",	      row[i].type,    row[i].key,
						row[i].value, row[i].entries, row[i].flags };
		struct nb_map *m = NULL, *copy = NULL;

		rc = nb_map_new(&m, &def, err);
		sure(!rc == !!m);
		if (!rc) {
			rc = nb_map_clone(&copy, m, err);
			sure(!rc == !!copy);
		}
		nb_map_put(copy);
		nb_map_put(m);
	}
	return rc;
}

static const struct work {
	const char *what;
	int (*work)(struct nb_err *err);
} works[] = {
	{ "image to policy", load_image },	     { "image to refusal", load_refused },
	{ "policy to generation", make_generation }, { "object to image", read_object },
	{ "maps of every type", make_maps },
};

static void read_file(struct nb_buf *to, const char *path)
{
	static char bytes[1 << 20];
	FILE *f = fopen(path, "rb");

	nb_buf_init(to, 0);
	if (!f)
		return;
	nb_buf_bytes(to, bytes, fread(bytes, 1, sizeof(bytes), f));
	fclose(f);
}

struct tried {
	struct nb_err err;
	long leaked;
};

/* Do it with allocation number @k failing; -1: none. */
static int try(const struct work *w, long k, struct tried *t)
{
	long before = alloc_live;
	int rc;

	memset(t, 0, sizeof(*t));
	wrong = false;
	alloc_arm(ALLOC_ANY, k);
	rc = w->work(&t->err);
	alloc_until = -1;
	t->leaked = alloc_live - before;
	return rc;
}

TEST_EACH(each_allocation_fails, 0, sizeof(works) / sizeof(works[0]))
{
	char path[512];
	struct tried t;
	long k;

	made_image(&image, "made", text, maps, 3);
	snprintf(path, sizeof(path), "%s/policies/slo_enforcer.bpf.o",
		 getenv("B") ? getenv("B") : "build/debug");
	read_file(&object, path);
	if (works[_i].work == read_object && !object.size)
		return;
	/* Once without, for what is allocated once and kept. */
	ck_assert_msg(!try(&works[_i], -1, &t), "%s: %s", works[_i].what, t.err.text);
	for (k = 0;; k++) {
		int rc = try(&works[_i], k, &t);

		ck_assert_msg(!t.leaked, "%s, %ld: %ld blocks leaked", works[_i].what, k, t.leaked);
		ck_assert_msg(!wrong, "%s, %ld: result and error disagree", works[_i].what, k);
		ck_assert_msg(!rc || alloc_failed, "%s: %s", works[_i].what, t.err.text);
		ck_assert_msg(!rc || rc == NB_E_NOMEM, "%s, %ld: error %d: %s", works[_i].what, k,
			      rc, t.err.text);
		ck_assert_msg(!rc || *t.err.text, "%s, %ld: no words", works[_i].what, k);
		if (!alloc_failed)
			break;
		ck_assert_msg(!try(&works[_i], -1, &t), "%s after failure %ld: %s", works[_i].what,
			      k, t.err.text);
	}
	ck_assert_int_gt(k, 3);
	printf("# %s: %ld allocations\n", works[_i].what, k);
	nb_buf_fini(&image);
	nb_buf_fini(&object);
}

UNIT_MAIN("allocation failures")
