// SPDX-License-Identifier: MIT
// tier: quick  load: cpu  limit: 600
// What the engines execute themselves: bpf_loop and bpf_for_each_map_elem, by
// the interpreter and as machine code, with the same answer.
#include "test/unit/unit.h"

#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "core/bpf/exec/run/code.h"
#include "core/bpf/exec/run/exec.h"
#include "core/bpf/image/image.h"
#include "core/bpf/map/ops.h"
#include "test/unit/asm.h"
#include "test/unit/compile_one.h"

enum { MAX = 256, PROGS = 4, MAPS = 4, ENGINES = 2 };

/* ---- an image of some programs ---- */

struct made {
	struct nb_slot slots[PROGS][MAX];
	struct nb_func func[PROGS][8];
	struct nb_prog prog[PROGS];
	struct nb_map_spec spec[MAPS];
	struct nb_image img;
	struct nb_exec *x[PROGS];
};

/* Functions begin where calls and addresses of callbacks lead. */
static uint32_t functions(struct nb_func *f, const struct nb_slot *s, size_t n)
{
	static struct nb_insn in[MAX];
	bool starts[MAX] = { true };
	struct nb_err err;
	uint32_t k = 0;

	ck_assert(!nb_decode(in, s, n, &err));
	for (size_t pc = 0; pc < n; pc++)
		if (in[pc].op == NB_OP_CALL_LOCAL || in[pc].op == NB_OP_LDDW_FUNC)
			starts[(int64_t)pc + 1 + in[pc].off] = true;
	for (uint32_t pc = 0; pc < n; pc++) {
		if (starts[pc])
			f[k++] = (struct nb_func){ .name = "f", .start = pc };
		f[k - 1].end = pc + 1;
	}
	return k;
}

static void make(struct made *m, const char *const *text, uint32_t n, struct nb_map *const *maps,
		 uint32_t nmaps, bool jit)
{
	struct nb_err err = { 0 };

	memset(m, 0, sizeof(*m));
	for (uint32_t i = 0; i < nmaps; i++)
		m->spec[i].type = nb_map_definition(maps[i])->type;
	for (uint32_t i = 0; i < n; i++) {
		size_t size;

		ck_assert_msg(!nb_asm(m->slots[i], MAX, &size, text[i], &err), "%s: %s", text[i],
			      err.text);
		m->prog[i] = (struct nb_prog){ .name = "f",
					       .section = "tuner",
					       .slots = m->slots[i],
					       .nslots = (uint32_t)size,
					       .funcs = m->func[i] };
		m->prog[i].nfuncs = functions(m->func[i], m->slots[i], size);
	}
	m->img = (struct nb_image){
		.name = "test", .maps = m->spec, .nmaps = nmaps, .progs = m->prog, .nprogs = n
	};
	for (uint32_t i = 0; i < n; i++)
		ck_assert_msg(!nb_exec_new(&m->x[i], &m->img, i, maps, NULL, &err), "%s", err.text);
	for (uint32_t i = 0; jit && i < n; i++)
		ck_assert_msg(!compile_one(m->x[i], NULL, &err), "%s", err.text);
}

static void drop(struct made *m)
{
	for (int i = 0; i < PROGS; i++)
		nb_exec_free(m->x[i]);
}

static bool no_jit(bool jit)
{
	return jit && !jit_available();
}

/* r0 of program 0, the same by both engines. */
static uint64_t run_progs(const char *const *text, uint32_t n, struct nb_map *const *maps,
			  uint32_t nmaps, void *ctx)
{
	uint64_t r0[ENGINES] = { 0 };

	for (int jit = 0; jit < ENGINES; jit++) {
		static struct made m;

		if (no_jit(jit)) {
			r0[jit] = r0[0];
			continue;
		}
		make(&m, text, n, maps, nmaps, jit);
		r0[jit] = nb_exec_run(m.x[0], ctx, 0);
		drop(&m);
	}
	ck_assert_msg(r0[0] == r0[1], "%#lx and %#lx of %s", r0[0], r0[1], text[0]);
	return r0[0];
}

static uint64_t run(const char *text, struct nb_map *map, void *ctx)
{
	return run_progs(&text, 1, &map, map ? 1 : 0, ctx);
}

static struct nb_map *map_new(uint32_t type, uint32_t key_size, uint32_t value_size, uint32_t n)
{
	const struct nb_map_def def = { "test", type, key_size, value_size, n, 0 };
	struct nb_err err = { 0 };
	struct nb_map *m;

	ck_assert_msg(!nb_map_new(&m, &def, &err), "%s", err.text);
	return m;
}

/* ---- bpf_loop ---- */

#define LOOP(n, func, ctx, flags)                                     \
	"mov %r1, " n "\nlddw func %r2, " func "\nmov %r3, " ctx "\n" \
	"mov %r4, " flags "\ncall 181\n"

TEST(loop_runs_its_callback)
{
	/* sum of indices in the caller's frame */
	static const char text[] = "mov %r6, %r10\nadd %r6, -8\n"
				   "stdw [%r10-8], 0\n" LOOP("100", "f", "%r6", "0") //
		"ldxdw %r1, [%r10-8]\nlsh %r1, 32\nor %r0, %r1\nexit\n"
		"f:\nldxdw %r3, [%r2]\nadd %r3, %r1\nstxdw [%r2], %r3\n"
		"mov %r0, 0\nexit";
	/* the callback says when it is enough: that turn counts */
	static const char stops[] = LOOP("100", "f", "0", "0") //
		"exit\nf:\nmov %r0, 0\njlt %r1, 7, +1\nmov %r0, 1\nexit";

	ck_assert_uint_eq(run(text, NULL, NULL), 4950ull << 32 | 100);
	ck_assert_uint_eq(run(stops, NULL, NULL), 8);
}

TEST(loop_with_arguments_at_their_limits)
{
#define NOTHING "exit\nf:\nmov %r0, 0\nexit"
	ck_assert_uint_eq(run(LOOP("0", "f", "0", "0") NOTHING, NULL, NULL), 0);
	ck_assert_uint_eq(run(LOOP("1", "f", "0", "0") NOTHING, NULL, NULL), 1);
	ck_assert_uint_eq(run(LOOP("1", "f", "0", "1") NOTHING, NULL, NULL), (uint64_t)-EINVAL);
	ck_assert_uint_eq(run("lddw %r4, 0x100000000\nmov %r1, 1\n"
			      "lddw func %r2, f\nmov %r3, 0\n"
			      "call 181\n" NOTHING,
			      NULL, NULL),
			  (uint64_t)-EINVAL);
	ck_assert_uint_eq(run(LOOP("8388608", "f", "0", "0") NOTHING, NULL, NULL), 8388608);
	ck_assert_uint_eq(run(LOOP("8388609", "f", "0", "0") NOTHING, NULL, NULL),
			  (uint64_t)-E2BIG);
	ck_assert_uint_eq(run(LOOP("-1", "f", "0", "0") NOTHING, NULL, NULL), (uint64_t)-E2BIG);
	/* both wrong: flags come first */
	ck_assert_uint_eq(run(LOOP("-1", "f", "0", "1") NOTHING, NULL, NULL), (uint64_t)-EINVAL);
	/* the number has 32 bits */
	ck_assert_uint_eq(run("lddw %r1, 0xff00000003\nlddw func %r2, f\n"
			      "mov %r3, 0\nmov %r4, 0\n"
			      "call 181\n" NOTHING,
			      NULL, NULL),
			  3);
#undef NOTHING
}

TEST(loop_keeps_r6_to_r9_and_the_frame)
{
	ck_assert_uint_eq(run("mov %r6, 1\nmov %r7, 2\nmov %r8, 4\nmov %r9, 8\n"
			      "stdw [%r10-8], 16\nstdw [%r10-512], 32\n" LOOP("5", "f", "0", "0") //
			      "mov %r0, 0\nadd %r0, %r6\nadd %r0, %r7\n"
			      "add %r0, %r8\nadd %r0, %r9\n"
			      "ldxdw %r1, [%r10-8]\nadd %r0, %r1\n"
			      "ldxdw %r1, [%r10-512]\nadd %r0, %r1\nexit\n"
			      "f:\nmov %r6, 99\nmov %r7, 99\nmov %r8, 99\n"
			      "mov %r9, 99\nstdw [%r10-8], 99\n"
			      "stdw [%r10-512], 99\nmov %r0, 0\nexit",
			      NULL, NULL),
			  63);
}

/* Loops in callbacks of loops, as deep as frames go, with helpers and local
 * calls in the innermost. */
TEST(loops_in_loops)
{
	/* clang-format off */
	static const char text[] =
		"stdw [%r10-8], 0\nmov %r6, %r10\nadd %r6, -8\n"
		LOOP("3", "a", "%r6", "0") "ldxdw %r0, [%r10-8]\nexit\n"
		"a:\nmov %r6, %r2\n" LOOP("2", "b", "%r6", "0") "mov %r0, 0\nexit\n"
		"b:\nmov %r6, %r2\n" LOOP("2", "c", "%r6", "0") "mov %r0, 0\nexit\n"
		"c:\nmov %r6, %r2\n" LOOP("2", "d", "%r6", "0") "mov %r0, 0\nexit\n"
		"d:\nmov %r6, %r2\n" LOOP("2", "e", "%r6", "0") "mov %r0, 0\nexit\n"
		"e:\nmov %r6, %r2\n" LOOP("2", "f", "%r6", "0") "mov %r0, 0\nexit\n"
		"f:\nmov %r6, %r2\ncall 7\nmov %r1, %r6\ncall local g\nmov %r0, 0\nexit\n"
		"g:\nmov %r2, 1\nlock add [%r1], %r2\nmov %r0, 0\nexit";
	/* clang-format on */

	ck_assert_uint_eq(run(text, NULL, NULL), 3 * 32);
}

/* Which callback is called may be known only when it is. */
TEST(loop_with_one_of_three_callbacks)
{
	static const char text[] = "mov %r6, %r1\nlddw func %r2, f\njeq %r6, 0, go\n"
				   "lddw func %r2, g\njeq %r6, 1, go\nlddw func %r2, h\ngo:\n"
				   "mov %r1, 50\nmov %r3, 0\nmov %r4, 0\ncall 181\nexit\n"
				   "f:\nmov %r0, 0\nexit\ng:\nmov %r0, 1\nexit\n"
				   "h:\nmov %r0, 0\njlt %r1, 20, +1\nmov %r0, 1\nexit";

	ck_assert_uint_eq(run(text, NULL, (void *)0), 50);
	ck_assert_uint_eq(run(text, NULL, (void *)1), 1);
	ck_assert_uint_eq(run(text, NULL, (void *)2), 21);
}

/* The budget of may_goto is one for the run, callbacks included. */
TEST(may_goto_in_callbacks)
{
	char want[20];
	static const char text[] = "stdw [%r10-8], 0\nmov %r3, %r10\nadd %r3, -8\n"
				   "mov %r1, 3\nlddw func %r2, f\nmov %r4, 0\ncall 181\n"
				   "ldxdw %r0, [%r10-8]\nexit\n"
				   "f:\nmov %r3, 0\nagain:\nmay_goto out\nadd %r3, 1\nja again\n"
				   "out:\nldxdw %r4, [%r2]\nadd %r4, %r3\nstxdw [%r2], %r4\n"
				   "mov %r0, 0\nexit";

	snprintf(want, sizeof(want), "%d", NB_MAY_GOTO_PASSES);
	ck_assert_uint_eq(run(text, NULL, NULL), strtoul(want, NULL, 10));
}

/*
 * Turns are counted over the whole run, one by one: when the inner loops have
 * used up what is left, the outer one is over, too.
 */
TEST(turns_of_a_run)
{
	static const char text[] = "stdw [%r10-8], 0\nmov %r6, %r10\nadd %r6, -8\n" LOOP(
		"0x800000", "a", "%r6",
		"0") "mov %r6, %r0\nldxdw %r0, [%r10-8]\n"
		     "lsh %r0, 32\nor %r0, %r6\nexit\n"
		     "a:\nmov %r6, %r2\n" LOOP("0x800000", "b", "%r6",
					       "0") "mov %r0, 0\nexit\n"
						    "b:\nldxdw %r3, [%r2]\nadd %r3, 1\n"
						    "stxdw [%r2], %r3\nmov %r0, 0\n"
						    "exit";
	const uint64_t inner = NB_MAX_ITERATIONS - 4;

	/* three whole ones and one short of the four turns around them */
	ck_assert_uint_eq(NB_MAX_ITERATIONS / 4, NB_LOOP_MAX);
	ck_assert_uint_eq(run(text, NULL, NULL), inner << 32 | 4);
}

/* Turns that a callback leaves over are there for the next loop. */
TEST(turns_come_back)
{
	static const char text[] = "mov %r6, 0\nmov %r7, 0\nagain:\n" LOOP(
		"0x800000", "a", "0", "0") "add %r7, %r0\nadd %r6, 1\njlt %r6, 100, again\n"
					   "mov %r0, %r7\nexit\n"
					   "a:\nmov %r0, 0\njlt %r1, 9, +1\nmov %r0, 1\n"
					   "exit";

	ck_assert_uint_eq(run(text, NULL, NULL), 1000);
}

/* So are numbers of iterators, but short ones, the first of a run, always come
 * to their end. */
TEST(numbers_of_a_run)
{
	static const char text[] = "mov %r6, 0\nmov %r7, 0\nagain:\nmov %r1, %r10\n"
				   "add %r1, -8\nmov %r2, 0\nmov %r3, 0x800000\n"
				   "jlt %r6, 5, +1\nmov %r3, 4096\ncall 0x10001\nnext:\n"
				   "mov %r1, %r10\nadd %r1, -8\ncall 0x10002\n"
				   "jeq %r0, 0, end\nadd %r7, 1\nja next\nend:\n"
				   "mov %r1, %r10\nadd %r1, -8\ncall 0x10003\nadd %r6, 1\n"
				   "jlt %r6, 7, again\nmov %r0, %r7\nexit";

	ck_assert_uint_eq(run(text, NULL, NULL), NB_MAX_ITERATIONS + 2 * 4096);
}

/* Nested ones that are short still use up what a run has. */
#define NEST(at, next, end, body)                                                                 \
	"mov %r1, %r10\nadd %r1, " at "\nmov %r2, 0\nmov %r3, 4096\n"                             \
	"call 0x10001\n" next ":\nmov %r1, %r10\nadd %r1, " at "\ncall 0x10002\njeq %r0, 0, " end \
	"\n" body "ja " next "\n" end ":\nmov %r1, %r10\nadd %r1, " at "\ncall 0x10003\n"

TEST(nested_numbers_of_a_run)
{
	static const char text[] = "mov %r7, 0\n" NEST(
		"-8", "n1", "e1",
		NEST("-16", "n2", "e2",
		     NEST("-24", "n3", "e3", "add %r7, 1\n"))) "mov %r0, %r7\nexit";
	enum { MOST = NB_MAX_COUNTED_RANGE, SURE = NB_MAX_COUNTED_ITERS - 2 };
	const uint64_t first = MOST - SURE;
	uint64_t left = NB_MAX_ITERATIONS - first * MOST, expect = MOST * MOST;

	/* From the second of the middle ones on it takes turns, too. */
	while (left) {
		uint64_t inner = --left < MOST ? left : MOST;

		left -= inner;
		expect += inner;
	}
	ck_assert_uint_eq(run(text, NULL, NULL), expect);
}

/* ---- bpf_for_each_map_elem ---- */

#define EACH(func, ctx, flags) \
	"lddw map %r1, 0\nlddw func %r2, " func "\nmov %r3, " ctx "\nmov %r4, " flags "\ncall 164\n"

/* r10-8 of the caller: sum of key * 1000 + value */
#define SUM_KEYS_AND_VALUES                                      \
	"f:\nldxw %r5, [%r2]\nmul %r5, 1000\nldxdw %r0, [%r3]\n" \
	"add %r5, %r0\nldxdw %r0, [%r4]\nadd %r0, %r5\n"         \
	"stxdw [%r4], %r0\nmov %r0, 0\nexit"
#define SUM                                                           \
	"stdw [%r10-8], 0\nmov %r6, %r10\nadd %r6, -8\n" EACH(        \
		"f", "%r6", "0") "ldxdw %r1, [%r10-8]\nlsh %r0, 32\n" \
				 "or %r0, %r1\nexit\n" SUM_KEYS_AND_VALUES

TEST(each_element_of_an_array)
{
	struct nb_map *m = map_new(NB_MAP_ARRAY, 4, 24, 5);
	uint64_t want = 0;

	for (uint32_t i = 0; i < 5; i++) {
		uint64_t value[3] = { i * 7 + 1 };

		ck_assert(!nb_map_update(m, &i, value, 0, 0));
		want += i * 1000 + value[0];
	}
	ck_assert_uint_eq(run(SUM, m, NULL), 5ull << 32 | want);
	nb_map_put(m);
}

TEST(each_element_of_this_cpus_array)
{
	struct nb_map *m = map_new(NB_MAP_PERCPU_ARRAY, 4, 8, 4);
	uint64_t want = 0;
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET((size_t)sched_getcpu(), &one);
	ck_assert(!sched_setaffinity(0, sizeof(one), &one));
	for (uint32_t i = 0; i < 4; i++)
		for (uint32_t cpu = 0; cpu < nb_ncpus(); cpu++) {
			uint64_t value = 100 * cpu + i;

			ck_assert(!nb_map_update(m, &i, &value, 0, cpu));
			if ((int)cpu == sched_getcpu())
				want += i * 1000 + value;
		}
	ck_assert_uint_eq(run(SUM, m, NULL), 4ull << 32 | want);
	nb_map_put(m);
}

TEST(each_element_of_a_hash)
{
	static const uint32_t key_size[] = { 4, 8, 13 };

	for (int k = 0; k < 3; k++) {
		struct nb_map *m = map_new(NB_MAP_HASH, key_size[k], 16, 300);
		uint64_t want = 0;

		ck_assert_uint_eq(run(SUM, m, NULL), 0);
		for (uint64_t i = 0; i < 300; i++) {
			uint64_t key[2] = { i * 3 }, value[2] = { i * i };

			ck_assert(!nb_map_update(m, key, value, 0, 0));
			want += i * 3 * 1000 + value[0];
		}
		ck_assert_uint_eq(run(SUM, m, NULL), 300ull << 32 | want);
		nb_map_put(m);
	}
}

TEST(each_ends_where_the_callback_says)
{
	struct nb_map *m = map_new(NB_MAP_ARRAY, 4, 8, 9);

	ck_assert_uint_eq(run(EACH("f", "0", "0") "exit\nf:\nmov %r0, 0\n"
						  "ldxw %r2, [%r2]\n"
						  "jlt %r2, 3, +1\n"
						  "mov %r0, 1\nexit",
			      m, NULL),
			  4);
	ck_assert_uint_eq(run(EACH("f", "0", "1") "exit\nf:\nmov %r0, 0\nexit", m, NULL),
			  (uint64_t)-EINVAL);
	nb_map_put(m);
}

/* A callback that deletes what it is given, and one that puts it in again
 * under the same key: the walk meets all and ends. */
TEST(each_while_the_map_changes)
{
	static const char *const text[] = {
		EACH("f", "0", "0") "exit\nf:\ncall 3\nmov %r0, 0\nexit",
		EACH("f", "0", "0") "exit\nf:\nmov %r4, 0\ncall 2\n"
				    "mov %r0, 0\nexit",
	};

	for (int t = 0; t < 2; t++)
		for (int jit = 0; jit < ENGINES; jit++) {
			struct nb_map *m = map_new(NB_MAP_HASH, 4, 8, 64);
			static struct made made;
			uint64_t r0, value = 5;

			if (no_jit(jit)) {
				nb_map_put(m);
				continue;
			}
			make(&made, &text[t], 1, &m, 1, jit);
			for (uint32_t i = 0; i < 64; i++)
				ck_assert(!nb_map_update(m, &i, &value, 0, 0));
			r0 = nb_exec_run(made.x[0], NULL, 0);
			ck_assert_uint_ge(r0, 64);
			ck_assert_uint_le(r0, t ? 64 + 64 : 64);
			ck_assert_uint_eq(nb_map_count(m), t ? 64 : 0);
			drop(&made);
			nb_map_put(m);
		}
}

UNIT_MAIN("callbacks")
