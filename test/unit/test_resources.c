// SPDX-License-Identifier: MIT
// tier: quick  load: cpu  limit: 600
// Ring buffer helpers as programs use them: each program is
// verified, then run by the interpreter and as machine code; what it left in
// the ring or the map is read back.
#include "test/unit/unit.h"

#include <errno.h>
#include <pthread.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/bpf/exec/run/exec.h"
#include "core/bpf/map/ops.h"
#include "core/bpf/map/ringbuf.h"
#include "test/unit/verify_image.h"
#include "test/unit/compile_one.h"

enum { RING = 9, CTX = 256 };

struct made {
	struct case_image c;
	struct nb_map *maps[CASE_MAPS];
	struct nb_exec *x;
};

static void make_maps(struct made *m)
{
	struct nb_err err;

	for (unsigned i = 0; i < CASE_MAPS; i++) {
		const struct nb_map_spec *s = &case_maps[i];
		const struct nb_map_def def = { s->name,       s->type,	       s->key_size,
						s->value_size, s->max_entries, s->flags };

		ck_assert_msg(!nb_map_new(&m->maps[i], &def, &err), "%s", err.text);
	}
}

static struct made *make(const char *text, bool jit)
{
	const struct nb_verify_opts o = { .coherence_off = true };
	struct made *m = calloc(1, sizeof(*m));
	struct nb_verdict *v;
	struct nb_err err = { 0 };

	ck_assert_ptr_nonnull(m);
	make_maps(m);
	ck_assert_msg(!case_asm(&m->c, text, &err), "%s", err.text);
	ck_assert_msg(!nb_verify(&v, &m->c.img, 0, &o, &err), "%s", err.text);
	ck_assert_msg(v->accepted, "slot %u: %s", v->finding.pc, v->finding.known);
	ck_assert_msg(!nb_exec_new(&m->x, &m->c.img, 0, m->maps, NULL, &err), "%s", err.text);
	/* Where there is no compiler, the interpreter runs twice. */
	if (jit)
		compile_one(m->x, v->aux, &err);
	nb_verdict_free(v);
	return m;
}

static void done(struct made *m)
{
	nb_exec_free(m->x);
	for (unsigned i = 0; i < CASE_MAPS; i++)
		nb_map_put(m->maps[i]);
	free(m);
}

static int64_t run(const struct made *m)
{
	uint64_t ctx[CTX / 8] = { 0 };

	return (int64_t)nb_exec_run(m->x, ctx, CTX);
}

static int take(struct made *m, uint64_t *v, size_t *size)
{
	memset(v, 0, 64);
	return nb_ringbuf_read(m->maps[RING], v, 64, size);
}

/* ---- records ---- */

#define RESERVE(size, flags)                        \
	"lddw map %r1, @ring\nmov %r2, " #size "\n" \
	"mov %r3, " #flags "\ncall 131\n"

TEST_EACH(submitted_is_read, 0, 2)
{
	struct made *m = make(RESERVE(24, 0) "jeq %r0, 0, out\n"
					     "stdw [%r0], 1\nstdw [%r0+8], 2\n"
					     "stdw [%r0+16], 3\n"
					     "mov %r1, %r0\nmov %r2, 0\n"
					     "call 132\nmov %r0, 7\nexit\n"
					     "out:\nmov %r0, 0\nexit\n",
			      _i);
	uint64_t v[8];
	size_t size = 0;

	ck_assert_int_eq(run(m), 7);
	ck_assert_int_eq(take(m, v, &size), 0);
	ck_assert_uint_eq(size, 24);
	ck_assert_uint_eq(v[0], 1);
	ck_assert_uint_eq(v[1], 2);
	ck_assert_uint_eq(v[2], 3);
	ck_assert_int_eq(take(m, v, &size), -EAGAIN);
	/* Full: the program sees NULL, and room again after reading. */
	for (int i = 0; i < 4096 / 32; i++)
		run(m);
	ck_assert_int_eq(run(m), 0);
	ck_assert_int_eq(take(m, v, &size), 0);
	ck_assert_int_eq(run(m), 7);
	done(m);
}

TEST_EACH(discarded_is_not_read, 0, 2)
{
	struct made *m = make(RESERVE(8, 0) "jeq %r0, 0, out\n"
					    "stdw [%r0], 1\nmov %r1, %r0\n"
					    "mov %r2, 0\ncall 133\n"
					    "stdw [%r10-8], 5\n"
					    "lddw map %r1, @ring\n"
					    "mov %r2, %r10\nadd %r2, -8\n"
					    "mov %r3, 8\nmov %r4, 0\n"
					    "call 130\nexit\n"
					    "out:\nmov %r0, -1\nexit\n",
			      _i);
	uint64_t v[8];
	size_t size;

	ck_assert_int_eq(run(m), 0);
	ck_assert_int_eq(take(m, v, &size), 0);
	ck_assert_uint_eq(v[0], 5);
	ck_assert_int_eq(take(m, v, &size), -EAGAIN);
	done(m);
}

TEST_EACH(reservation_with_flags_fails, 0, 2)
{
	struct made *m = make(RESERVE(8, 1) "jeq %r0, 0, out\n"
					    "mov %r1, %r0\nmov %r2, 0\n"
					    "call 133\nmov %r0, 1\nexit\n"
					    "out:\nmov %r0, 0\nexit\n",
			      _i);

	ck_assert_int_eq(run(m), 0);
	done(m);
}

TEST_EACH(query_tells_size_and_bytes, 0, 2)
{
	struct made *m = make("stdw [%r10-8], 5\nlddw map %r1, @ring\n"
			      "mov %r2, %r10\nadd %r2, -8\nmov %r3, 8\n"
			      "mov %r4, 0\ncall 130\n"
			      "lddw map %r1, @ring\nmov %r2, 0\ncall 134\n"
			      "mov %r6, %r0\nlddw map %r1, @ring\n"
			      "mov %r2, 1\ncall 134\n"
			      "lsh %r0, 16\nor %r0, %r6\nexit\n",
			      _i);

	ck_assert_int_eq(run(m), 4096ll << 16 | 16);
	ck_assert_int_eq(run(m), 4096ll << 16 | 32);
	done(m);
}

UNIT_MAIN("resources")
