// SPDX-License-Identifier: MIT
// tier: quick  load: cpu  limit: 600
// Machine code where it does not call what the interpreter calls: locks and
// records in line, over edge values and between threads of machine code and C;
// and that the code has what is known of a program: what is called is called
// directly, what is known is not computed.
#include "test/unit/unit.h"

#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/bpf/exec/run/exec.h"
#include "core/bpf/map/ops.h"
#include "core/bpf/map/ringbuf.h"
#include "test/unit/made.h"
#include "test/unit/asm.h"
#include "test/unit/compile_features.h"

enum { ROOM = 64, ALL = -1 };

static struct nb_slot slots[ROOM];

struct made {
	struct nb_exec *x;
	struct nb_jit *j;
};

/* @text as the program, with @map as map 0. */
static struct made make_with(const char *text, struct nb_map *map, const uint8_t *aux,
			     unsigned features)
{
	const struct nb_func func = { .name = "f" };
	struct nb_prog prog = {
		.name = "f", .section = "tuner", .slots = slots, .funcs = &func, .nfuncs = 1
	};
	const struct nb_image img = {
		.name = "p", .maps = &made_local, .nmaps = map != NULL, .progs = &prog, .nprogs = 1
	};
	struct nb_err err = { 0 };
	struct made m = { NULL, NULL };
	size_t n = 0;

	ck_assert_msg(!nb_asm(slots, ROOM, &n, text, &err), "%s", err.text);
	for (size_t i = 0; map && i < n; i++)
		if (slots[i].opcode == 0x18 && slots[i].imm == MADE_MAP) {
			slots[i].regs |= 1 << 4;
			slots[i].imm = 0;
		}
	prog.nslots = (uint32_t)n;
	ck_assert_msg(!nb_exec_new(&m.x, &img, 0, &map, NULL, &err), "%s", err.text);
	ck_assert_msg(!compile_for(m.x, aux, features, &err), "%s", err.text);
	m.j = m.x->jit;
	return m;
}

static struct made make(const char *text, unsigned features)
{
	return make_with(text, NULL, NULL, features);
}

static void drop(struct made m)
{
	nb_exec_free(m.x);
}

static uint64_t enter(const struct made *m, void *ctx)
{
	return m->j->entry(m->x, ctx, 0);
}

/* With all the processor has, and with nothing. */
static const unsigned features[] = { (unsigned)ALL, 0 };

/* ---- records ---- */

static void finish_one(const struct made *m, uint64_t header, bool discard)
{
	uint64_t mine[4] = { 1, header, 2, 3 }, theirs[4];

	memcpy(theirs, mine, sizeof(mine));
	if (discard)
		nb_ringbuf_discard(&theirs[2], 0);
	else
		nb_ringbuf_submit(&theirs[2], 0);
	ck_assert_uint_eq(enter(m, &mine[2]), 0);
	ck_assert_msg(!memcmp(mine, theirs, sizeof(mine)),
		      "header %#" PRIx64 ": %#" PRIx64 " and %#" PRIx64, header, mine[1],
		      theirs[1]);
}

TEST(records_are_finished_as_in_c)
{
	static const char *const text[] = { "mov %r2, 0\ncall 132\nexit",
					    "mov %r2, 0\ncall 133\nexit",
					    "mov %r2, 1\nmov %r0, 9\n"
					    "call 132\nexit",
					    "mov %r2, 2\nmov %r0, 9\n"
					    "call 133\nexit" };
	static const uint32_t size[] = { 0, 1, 7, 8, 0xffff, 0x10000, 0x3ffffff8, 0x3fffffff };

	for (unsigned t = 0; t < 4; t++)
		for (unsigned f = 0; f < 2; f++) {
			struct made m = make(text[t], features[f]);

			for (unsigned s = 0; s < 8; s++)
				finish_one(&m, (uint64_t)1 << 32 | NB_RINGBUF_BUSY | size[s],
					   t % 2);
			drop(m);
		}
}

/* ---- what is in the code ---- */

static uint64_t word_at(const struct nb_jit *j, size_t at, size_t size)
{
	uint64_t v = 0;

	memcpy(&v, j->code + at, size);
	return v;
}

static uint64_t address_of(const void *fn)
{
	uint64_t v;

	memcpy(&v, fn, sizeof(v));
	return v;
}

/* Places that call the function at @fn: directly, or through a register that
 * it was put into. */
static unsigned calls_of(const struct nb_jit *j, uint64_t fn)
{
	unsigned n = 0;

#if defined(__x86_64__)
	for (size_t i = 0; i + 9 <= j->size; i++) {
		uint64_t end = (uintptr_t)j->code + i + 5;

		if (j->code[i] == 0xe8)
			n += end + (uint64_t)(int32_t)word_at(j, i + 1, 4) == fn;
		n += word_at(j, i, 8) == fn;
	}
#else
	for (size_t i = 0; i + 4 <= j->size; i += 4) {
		uint32_t w = (uint32_t)word_at(j, i, 4);
		int64_t off = (int64_t)((uint64_t)w << 38) >> 36;

		if (w >> 26 == 0x94000000u >> 26)
			n += (uintptr_t)j->code + i + (uint64_t)off == fn;
		n += (w & 0xfffffc1f) == 0xd63f0000; /* BLR */
	}
#endif
	return n;
}

static struct nb_map *map_new(enum nb_map_type type, uint32_t entries)
{
	const struct nb_map_def def = {
		.name = "m", .type = type, .key_size = 4, .value_size = 8, .max_entries = entries
	};
	struct nb_err err = { 0 };
	struct nb_map *m;

	ck_assert_msg(!nb_map_new(&m, &def, &err), "%s", err.text);
	nb_map_seed(m);
	return m;
}

#define LOOKUP                                                            \
	"mov %r2, %r10\nadd %r2, -4\nlddw %r1, 0x7000\ncall 1\njeq %r0, " \
	"0, +1\nldxdw %r0, [%r0]\nexit"
#define CONSTANT_KEY "stw [%r10-4], 3\n" LOOKUP
#define UNKNOWN_KEY "ldxw %r3, [%r1]\nstxw [%r10-4], %r3\n" LOOKUP

TEST(helpers_are_called_directly)
{
	struct made m = make("call 5\nmov %r6, %r0\ncall 8\nexit", (unsigned)ALL);
	nb_helper_fn *clock = nb_helper_body(5), *cpu = nb_helper_body(8);

#if defined(__x86_64__)
	ck_assert_uint_eq(calls_of(m.j, address_of(&clock)), 1);
	ck_assert_uint_eq(calls_of(m.j, address_of(&cpu)), 1);
#else
	(void)clock, (void)cpu;
	ck_assert_uint_eq(calls_of(m.j, 0), 2);
#endif
	drop(m);
}

TEST(lookups_are_in_the_code)
{
	struct nb_map *array = map_new(NB_MAP_ARRAY, 0x123457);
	struct nb_map *hash = map_new(NB_MAP_HASH, 16);
	struct made known, unknown, called;
	nb_helper_fn *helper = nb_helper_body(1);

	known = make_with(CONSTANT_KEY, array, NULL, (unsigned)ALL);
	unknown = make_with(UNKNOWN_KEY, array, NULL, (unsigned)ALL);
	called = make_with(UNKNOWN_KEY, hash, NULL, (unsigned)ALL);
	ck_assert_uint_eq(calls_of(known.j, address_of(&helper)), 0);
	ck_assert_uint_eq(calls_of(unknown.j, address_of(&helper)), 0);
#if defined(__x86_64__)
	ck_assert_uint_eq(calls_of(called.j, address_of(&helper)), 0);
#endif
	ck_assert_uint_eq(calls_of(called.j, address_of(&hash->lookup)), 1);
	/* the key's bound is folded away, with its compare and the product */
	ck_assert_uint_lt(known.j->size + 12, unknown.j->size);
	drop(known);
	drop(unknown);
	drop(called);
	nb_map_put(array);
	nb_map_put(hash);
}

static size_t size_of(const char *text, const uint8_t *aux)
{
	struct made m = make_with(text, NULL, aux, (unsigned)ALL);
	size_t size = m.j->size;

	drop(m);
	return size;
}

TEST(divisors_that_are_not_zero_are_not_checked)
{
	enum { R = NB_AUX_REACHED };
	static const char *const text[] = {
		"ldxdw %r0, [%r1]\nldxdw %r2, [%r1+8]\ndiv %r0, %r2\nexit",
		"ldxdw %r0, [%r1]\nldxdw %r2, [%r1+8]\nmod32 %r0, %r2\nexit",
	};
	static const uint8_t plain[] = { R, R, R, R };
	static const uint8_t known[] = { R, R, R | NB_AUX_NONZERO, R };

	for (unsigned i = 0; i < 2; i++)
#if defined(__x86_64__)
		ck_assert_uint_lt(size_of(text[i], known), size_of(text[i], plain));
#else /* the instruction itself gives 0 */
		ck_assert_uint_eq(size_of(text[i], known), size_of(text[i], plain));
#endif
}

/* Instructions of 32 bits zero the upper half themselves: none is longer than
 * its twin of 64 bits. */
TEST(nothing_is_zeroed_twice)
{
	static const char *const op[] = { "add", "sub", "mul", "or",   "and",
					  "xor", "lsh", "rsh", "arsh", "mov" };
	char narrow[64], wide[64];

	for (unsigned i = 0; i < sizeof(op) / sizeof(op[0]); i++)
		for (unsigned reg = 0; reg < 2; reg++) {
			const char *with = reg ? "%r3" : "5";

			snprintf(narrow, sizeof(narrow), "%s32 %%r2, %s\nexit", op[i], with);
			snprintf(wide, sizeof(wide), "%s %%r2, %s\nexit", op[i], with);
			ck_assert_msg(size_of(narrow, NULL) <= size_of(wide, NULL), "%s", narrow);
		}
}

TEST(records_are_in_the_code)
{
	nb_helper_fn *submit = nb_helper_body(132);
	struct made m = make("mov %r6, %r1\ncall 132\nexit", (unsigned)ALL);

#if defined(__x86_64__)
	ck_assert_uint_eq(calls_of(m.j, address_of(&submit)), 0);
#else
	(void)submit;
	ck_assert_uint_eq(calls_of(m.j, 0), 0);
#endif
	drop(m);
}

/* ---- a hash's chains ---- */

static struct nb_map *hash_of_size(uint32_t key_size, uint32_t entries)
{
	const struct nb_map_def def = { .name = "m",
					.type = NB_MAP_HASH,
					.key_size = key_size,
					.value_size = 8,
					.max_entries = entries };
	struct nb_map *m;

	ck_assert(!nb_map_new(&m, &def, NULL));
	nb_map_seed(m);
	return m;
}

/* The key is the context, what is found the answer. */
static struct made finder(struct nb_map *map)
{
	return make_with("mov %r2, %r1\nlddw %r1, 0x7000\ncall 1\nexit", map, NULL, (unsigned)ALL);
}

static uint64_t key_number(uint64_t i)
{
	return (i * 0x9e3779b97f4a7c15) >> 7 ^ i << 40;
}

/* What C finds, of keys that are there and others, full and half empty. */
static void same_as_in_c(uint32_t key_size, uint32_t entries)
{
	struct nb_map *map = hash_of_size(key_size, entries);
	struct made m = finder(map);

	for (unsigned turn = 0; turn < 3; turn++) {
		for (uint64_t i = 0; i < entries; i++) {
			uint64_t key[2] = { key_number(i), 0 };

			if (turn == 0)
				nb_map_update(map, key, &i, NB_ANY, 0);
			else if (turn == 1 && i % 2)
				nb_map_delete(map, key);
		}
		for (uint64_t i = 0; i < 3 * (uint64_t)entries; i++) {
			uint64_t key[2] = { key_number(i), 0 }, *in_c;

			in_c = nb_map_lookup(map, key, 0);
			ck_assert_uint_eq(enter(&m, key), (uintptr_t)in_c);
			/* keys that differ beyond their size are one */
			ck_assert(turn != 2 || i >= entries || key_size < 8 || !!in_c == !(i % 2));
		}
	}
	drop(m);
	nb_map_put(map);
}

TEST(chains_are_walked_as_in_c)
{
	for (uint32_t key_size = 4; key_size <= 16; key_size += 4) {
		same_as_in_c(key_size, 1);
		same_as_in_c(key_size, 3);
		same_as_in_c(key_size, 64);
		same_as_in_c(key_size, 1024);
	}
}

static struct {
	struct nb_map *map;
	uint64_t stop;
} churn;

/* The other keys of few buckets come and go. */
static void *come_and_go(void *unused)
{
	for (uint64_t i = 0; !__atomic_load_n(&churn.stop, __ATOMIC_RELAXED); i++) {
		uint64_t key = 2 + i % 6, value = key;

		if (i / 6 % 2)
			nb_map_delete(churn.map, &key);
		else
			nb_map_update(churn.map, &key, &value, NB_ANY, 0);
	}
	return unused;
}

TEST(keys_that_stay_are_always_found)
{
	uint64_t stays[2] = { 0, 1 }, absent = 99;
	pthread_t other;
	struct made m;

	churn.map = hash_of_size(8, 8);
	churn.stop = 0;
	for (unsigned i = 0; i < 2; i++)
		ck_assert(!nb_map_update(churn.map, &stays[i], &stays[i], NB_ANY, 0));
	m = finder(churn.map);
	ck_assert(!pthread_create(&other, NULL, come_and_go, NULL));
	for (unsigned i = 0; i < TIMES(300000); i++) {
		const uint64_t *found;
		uint64_t answer = enter(&m, &stays[i % 2]);

		ck_assert_uint_ne(answer, 0);
		memcpy(&found, &answer, sizeof(found));
		ck_assert_uint_eq(*found, stays[i % 2]);
		ck_assert_uint_eq(enter(&m, &absent), 0);
	}
	__atomic_store_n(&churn.stop, 1, __ATOMIC_RELAXED);
	ck_assert(!pthread_join(other, NULL));
	drop(m);
	nb_map_put(churn.map);
}

/* ---- the CPU's number ---- */

/* In the place of the area that the kernel fills. */
static _Thread_local struct {
	uint32_t before, cpu, after;
} area;

static int32_t place_of_area(void)
{
	const unsigned char *thread;

#if defined(__x86_64__)
	__asm__("mov %%fs:0, %0" : "=r"(thread));
#else
	__asm__("mrs %0, tpidr_el0" : "=r"(thread));
#endif
	return (int32_t)((unsigned char *)&area.cpu - thread);
}

static struct nb_map *percpu_map(enum nb_map_type type)
{
	struct nb_map *m = map_new(type, 3);
	uint64_t *v = calloc(nb_ncpus(), sizeof(*v));

	ck_assert_ptr_nonnull(v);
	for (uint32_t key = 0; key < 3; key++) {
		for (uint32_t cpu = 0; cpu < nb_ncpus(); cpu++)
			v[cpu] = 100 * key + cpu;
		ck_assert(!nb_map_write(m, &key, v, NB_ANY, NULL));
	}
	free(v);
	return m;
}

/* The number is what both engines go by; where it is none, they ask. */
static void run_on(const struct made *m, uint32_t cpu, uint64_t key, uint64_t expected)
{
	uint32_t here = (uint32_t)sched_getcpu() % nb_ncpus();
	uint64_t ctx[2] = { key, 0 }, got[2];

	if (cpu >= nb_ncpus())
		expected += here;
	else
		expected += cpu;
	area.cpu = cpu;
	got[0] = enter(m, ctx);
	got[1] = nb_exec_interpret(m->x, ctx, 0);
	for (unsigned i = 0; i < 2; i++)
		ck_assert_msg(got[i] == expected,
			      "%s, CPU %#" PRIx32 ", key %" PRIu64 ": %" PRIu64
			      " instead of %" PRIu64,
			      i ? "interpreter" : "machine code", cpu, key, got[i], expected);
}

static void stay_here(void)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET((size_t)sched_getcpu(), &one);
	ck_assert(!sched_setaffinity(0, sizeof(one), &one));
}

#define PERCPU                                                            \
	"mov %r2, %r10\nadd %r2, -4\nlddw %r1, 0x7000\ncall 1\njeq %r0, " \
	"0, none\nldxdw %r0, [%r0]\nexit\nnone:\ncall 8\nadd %r0, 7000\n" \
	"exit"
#define IN_A_CALL "call local f\nexit\nf:\n"

static void look_up_on(enum nb_map_type type, const char *text, uint32_t cpu, const uint32_t *key)
{
	struct nb_map *map = percpu_map(type);

	for (unsigned f = 0; f < 2; f++) {
		struct made m = make_with(text, map, NULL, features[f]);

		for (uint32_t k = key ? *key : 0; k <= (key ? *key : 4); k++)
			run_on(&m, cpu, k, k < 3 ? 100 * k : 7000);
		drop(m);
	}
	nb_map_put(map);
}

static void on_cpu(uint32_t cpu)
{
	static const char *const ask[] = { "call 8\nexit", IN_A_CALL "call 8\nexit" };
	static const char *const unknown[] = { "ldxw %r3, [%r1]\nstxw [%r10-4], %r3\n" PERCPU,
					       IN_A_CALL
					       "ldxw %r3, [%r1]\nstxw [%r10-4], %r3\n" PERCPU };
	static const uint32_t two = 2, three = 3;

	for (unsigned i = 0; i < 2; i++) {
		struct made m = make(ask[i], (unsigned)ALL);

		run_on(&m, cpu, 0, 0);
		drop(m);
		look_up_on(NB_MAP_PERCPU_ARRAY, unknown[i], cpu, NULL);
	}
	look_up_on(NB_MAP_PERCPU_ARRAY, "stw [%r10-4], 2\n" PERCPU, cpu, &two);
	look_up_on(NB_MAP_PERCPU_ARRAY, "stw [%r10-4], 3\n" PERCPU, cpu, &three);
}

TEST(cpu_comes_from_the_area_or_a_call)
{
	const uint32_t n = nb_ncpus();
	const uint32_t cpu[] = {
		0, n - 1, n, n + 1, INT32_MAX, (uint32_t)INT32_MIN, (uint32_t)-2, (uint32_t)-1
	};
	const struct nb_cpu_known real = nb_cpu_known;

	stay_here();
	nb_cpu_find();
	nb_cpu_known.area = place_of_area();
	area.before = area.after = 0;
	for (unsigned i = 0; i < sizeof(cpu) / sizeof(cpu[0]); i++)
		on_cpu(cpu[i]);
	nb_cpu_known.area = 0; /* none: the area is not looked at */
	area.cpu = n - 1;
	on_cpu(UINT32_MAX);
	nb_cpu_known = real;
}

/* On each CPU that we may run on, in this thread. */
static void *seen_is_asked(void *unused)
{
	cpu_set_t all, one;

	ck_assert(!sched_getaffinity(0, sizeof(all), &all));
	for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, &all))
			continue;
		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		ck_assert(!sched_setaffinity(0, sizeof(one), &one));
		ck_assert_uint_eq(nb_cpu_ask(), cpu % nb_ncpus());
		if (nb_cpu_area())
			ck_assert_uint_eq(nb_cpu_seen(), cpu);
	}
	ck_assert(!sched_setaffinity(0, sizeof(all), &all));
	return unused;
}

/* The C library's area is where we look, in every thread; unless the user has
 * told it not to have one. */
TEST(area_is_the_c_library_s)
{
	const char *tunables = getenv("GLIBC_TUNABLES");
	pthread_t other;

	nb_cpu_find();
	printf("# CPU number: %s\n", nb_cpu_area() ? "area" : "call");
	if (tunables && strstr(tunables, "glibc.pthread.rseq=0"))
		ck_assert_int_eq(nb_cpu_area(), 0);
	seen_is_asked(NULL);
	ck_assert(!pthread_create(&other, NULL, seen_is_asked, NULL));
	ck_assert(!pthread_join(other, NULL));
}

static int no_compiler(void)
{
	puts("1..0 # SKIP jit_inline: no compiler for this machine");
	return 0;
}

UNIT_MAIN_WITH("jit_inline", if (!jit_available()) return no_compiler();)
