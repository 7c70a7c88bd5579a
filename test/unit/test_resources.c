// SPDX-License-Identifier: MIT
// tier: quick  load: cpu  limit: 600
// Ring buffer and lock helpers as programs use them: each program is
// verified, then run by the interpreter and as machine code; what it left in
// the ring or the map is read back.
#include "test/unit/unit.h"

#include <errno.h>
#include <pthread.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/exec/jit/compile.h"
#include "core/exec/run/exec.h"
#include "core/exec/run/spin.h"
#include "core/map/ops.h"
#include "core/map/ringbuf.h"
#include "test/unit/verify_image.h"

enum { RING = 11, LOCKED = 12, GUARDED = 13, DATA = 14, BSS = 5, CTX = 256 };

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
		const struct nb_map_def def = { s->name,	s->type,
						s->key_size,	s->value_size,
						s->max_entries, s->flags };

		ck_assert_msg(!nb_map_new(&m->maps[i], &def, &err), "%s",
			      err.text);
		nb_map_set_lock(m->maps[i], s->lock);
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
	ck_assert_msg(v->accepted, "slot %u: %s", v->finding.pc,
		      v->finding.known);
	ck_assert_msg(!nb_exec_new(&m->x, &m->c.img, 0, m->maps, NULL, &err),
		      "%s", err.text);
	/* Where there is no compiler, the interpreter runs twice. */
	if (jit)
		nb_exec_compile(m->x, v->aux, &err);
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

START_TEST(submitted_is_read)
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
END_TEST

START_TEST(discarded_is_not_read)
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
END_TEST

START_TEST(reservation_with_flags_fails)
{
	struct made *m = make(RESERVE(8, 1) "jeq %r0, 0, out\n"
					    "mov %r1, %r0\nmov %r2, 0\n"
					    "call 133\nmov %r0, 1\nexit\n"
					    "out:\nmov %r0, 0\nexit\n",
			      _i);

	ck_assert_int_eq(run(m), 0);
	done(m);
}
END_TEST

START_TEST(query_tells_size_and_bytes)
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
END_TEST

/* ---- locks ---- */

#define COUNT                                              \
	"lddw map_value %r1, @data, 0\ncall 93\n"          \
	"lddw map_value %r2, @data, 8\n"                   \
	"ldxdw %r3, [%r2]\nadd %r3, 1\nstxdw [%r2], %r3\n" \
	"lddw map_value %r1, @data, 0\ncall 94\n"          \
	"mov %r0, 0\nexit\n"

static uint32_t *lock_word(struct made *m)
{
	return nb_map_array_base(m->maps[DATA]);
}

static uint64_t counted(struct made *m)
{
	uint64_t v;

	memcpy(&v, (char *)nb_map_array_base(m->maps[DATA]) + 8, 8);
	return v;
}

enum { THREADS = 4, TURNS = 20000 };

static void *count(void *arg)
{
	for (int i = 0; i < TURNS; i++)
		run(arg);
	return NULL;
}

/* Did no holder lose the lock, as one that a busy machine stops does? */
static bool counted_by_threads(struct made *m)
{
	uint64_t before = nb_spin_takeovers(), had = counted(m);
	pthread_t t[THREADS];

	for (int i = 0; i < THREADS; i++)
		ck_assert(!pthread_create(&t[i], NULL, count, m));
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	ck_assert_uint_eq(*lock_word(m), 0);
	if (nb_spin_takeovers() != before)
		return false;
	ck_assert_uint_eq(counted(m) - had, THREADS * TURNS);
	return true;
}

START_TEST(counting_under_the_lock)
{
	struct made *m = make(COUNT, _i);
	int tries = 0;

	while (!counted_by_threads(m))
		ck_assert_int_lt(++tries, 20);
	done(m);
}
END_TEST

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

START_TEST(lost_holder_is_replaced)
{
	struct made *m = make(COUNT, _i);
	uint64_t before = nb_spin_takeovers();
	double start = seconds();

	*lock_word(m) = 77;
	run(m);
	ck_assert_uint_eq(counted(m), 1);
	ck_assert_uint_eq(*lock_word(m), 0);
	ck_assert_uint_eq(nb_spin_takeovers(), before + 1);
	ck_assert(seconds() - start >= 0.09);
	ck_assert(seconds() - start < 30);
	run(m); /* and then it is free */
	ck_assert_uint_eq(nb_spin_takeovers(), before + 1);
	done(m);
}
END_TEST

START_TEST(lock_bytes_are_left_alone)
{
	static const unsigned offs[] = { LOCKED, GUARDED };
	struct made *m = make(COUNT, false);
	struct nb_map *map = m->maps[offs[_i]], *clone;
	uint32_t at = case_maps[offs[_i]].lock - 1;
	uint32_t size = case_maps[offs[_i]].value_size, word = 0xdead;
	unsigned char value[64], back[64];
	uint64_t key = 1;
	struct nb_err err;

	memset(value, 0x55, sizeof(value));
	ck_assert(!nb_map_write(map, &key, value, NB_ANY, &err));
	ck_assert(!nb_map_update(map, &key, value, NB_ANY, 0));
	memcpy(back, nb_map_lookup(map, &key, 0), size);
	memset(value + at, 0, 4);
	ck_assert_mem_eq(back, value, size);
	memcpy((char *)nb_map_lookup(map, &key, 0) + at, &word, 4);
	/* A hash puts another element in its place, an array does not. */
	ck_assert(!nb_map_read(map, &key, back, &err));
	ck_assert_mem_eq(back, value, size);
	ck_assert(!nb_map_clone(&clone, map, &err));
	memcpy(back, nb_map_lookup(clone, &key, 0), size);
	ck_assert_mem_eq(back, value, size);
	if (offs[_i] == GUARDED) {
		ck_assert(!nb_map_update(map, &key, back, NB_ANY, 0));
		memcpy(back, (char *)nb_map_lookup(map, &key, 0) + at, 4);
		ck_assert_mem_eq(back, &word, 4);
	}
	nb_map_put(clone);
	done(m);
}
END_TEST

UNIT_MAIN("resources", tcase_set_timeout(tc, 60);
	  tcase_add_loop_test(tc, submitted_is_read, 0, 2);
	  tcase_add_loop_test(tc, discarded_is_not_read, 0, 2);
	  tcase_add_loop_test(tc, reservation_with_flags_fails, 0, 2);
	  tcase_add_loop_test(tc, query_tells_size_and_bytes, 0, 2);
	  tcase_add_loop_test(tc, counting_under_the_lock, 0, 2);
	  tcase_add_loop_test(tc, lost_holder_is_replaced, 0, 2);
	  tcase_add_loop_test(tc, lock_bytes_are_left_alone, 0, 2);)
