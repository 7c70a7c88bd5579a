// SPDX-License-Identifier: MIT
// Look-ups inside machine code: one program of LOOKUPS look-ups in a map of
// 1024 entries, with keys that are not known before, less the same program
// without them. Our machine code on our maps, and where bpf() is permitted
// the kernel's on its own, by BPF_PROG_TEST_RUN, in turns. And a program of one
// hash look-up against the same C natively on the same map, and the LOOKUPS
// look-ups against as many in a native table that nobody changes meanwhile.
#include <errno.h>
#include <linux/bpf.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/bpf/exec/run/exec.h"
#include "core/bpf/image/image.h"
#include "core/bpf/map/map.h"
#include "core/bpf/map/ops.h"
#include "core/defs/ctx.h"
#include "core/bpf/verify/verify.h"
#include "test/bench/bench.h"
#include "test/unit/map_spec.h"
#include "test/unit/compile_one.h"

enum {
	LOOKUPS = 16,
	ENTRIES = 1024,
	ROUNDS = 101,
	PAIRS = 500,
	EACH = 512,
	KERNEL_EACH = 2000,
	MAX_SLOTS = 512
};

enum kind { NONE, ARRAY, HASH, ONE, NKINDS };

static const struct {
	const char *key, *name;
	double ns;
} kinds[NKINDS] = {
	[ARRAY] = { "map.array_inlined", "array look-up in machine code", 1 },
	[HASH] = { "map.hash_inlined", "hash look-up, 8-byte key, in machine code", 6 },
};

static const struct nb_map_spec specs[NKINDS] = {
	[NONE] = MAP_SPEC("bench", ARRAY, 4, 8, ENTRIES, 0),
	[ARRAY] = MAP_SPEC("bench", ARRAY, 4, 8, ENTRIES, 0),
	[HASH] = MAP_SPEC("bench", HASH, 8, 8, ENTRIES, 0),
	[ONE] = MAP_SPEC("bench", HASH, 8, 8, ENTRIES, 0),
};

struct made {
	struct nb_slot slots[MAX_SLOTS];
	uint32_t n;
};

static struct nb_exec *ours[NKINDS];
static int kernel[NKINDS], kernel_error;
static double took[2][NKINDS][ROUNDS];
static struct nb_map *one; /* the map of kind ONE; its program's reference */

static void die(const char *what, const char *why)
{
	fprintf(stderr, "lookup_bench: %s: %s\n", what, why);
	exit(1);
}

/* ---- the program -------------------------------------------------------- */

static void emit(struct made *m, uint8_t op, unsigned dst, unsigned src, int off, int32_t imm)
{
	m->slots[m->n++] = (struct nb_slot){ op, (uint8_t)(dst | src << 4), (int16_t)off, imm };
}

static void turn(struct made *m, enum kind kind, int map)
{
	emit(m, 0x7b, 10, 7, -8, 0); /* *(u64 *)(r10 - 8) = r7 */
	if (kind != NONE) {
		emit(m, 0xbf, 2, 10, 0, 0);
		emit(m, 0x07, 2, 0, 0, -8); /* r2 = r10 - 8 */
		emit(m, 0x18, 1, 1, 0, map);
		emit(m, 0, 0, 0, 0, 0);	   /* r1 = map */
		emit(m, 0x85, 0, 0, 0, 1); /* look it up */
		emit(m, 0x55, 0, 0, 2, 0); /* if r0 != 0 goto +2 */
		emit(m, 0xb7, 0, 0, 0, 0);
		emit(m, 0x95, 0, 0, 0, 0);
		emit(m, 0x79, 0, 0, 0, 0); /* r0 = *(u64 *)r0 */
	} else {
		emit(m, 0x79, 0, 10, -8, 0);
	}
	emit(m, 0x0f, 8, 0, 0, 0);    /* r8 += r0 */
	emit(m, 0x07, 7, 0, 0, 37);   /* r7 += 37 */
	emit(m, 0x57, 7, 0, 0, 1023); /* r7 &= 1023 */
}

/* As a compiler writes one look-up. */
static void make_one(struct made *m, int map, int off)
{
	m->n = 0;
	emit(m, 0x61, 2, 1, off, 0);
	emit(m, 0x57, 2, 0, 0, 1023);
	emit(m, 0x7b, 10, 2, -8, 0); /* *(u64 *)(r10 - 8) = r2 */
	emit(m, 0xbf, 2, 10, 0, 0);
	emit(m, 0x07, 2, 0, 0, -8); /* r2 = r10 - 8 */
	emit(m, 0x18, 1, 1, 0, map);
	emit(m, 0, 0, 0, 0, 0);	   /* r1 = map */
	emit(m, 0x85, 0, 0, 0, 1); /* look it up */
	emit(m, 0x15, 0, 0, 1, 0); /* if r0 == 0 goto +1 */
	emit(m, 0x79, 1, 0, 0, 0); /* r1 = *(u64 *)r0 */
	emit(m, 0xb7, 0, 0, 0, 0);
	emit(m, 0x95, 0, 0, 0, 0);
}

/* @off: of a word of the context. */
static void make(struct made *m, enum kind kind, int map, int off)
{
	if (kind == ONE) {
		make_one(m, map, off);
		return;
	}
	m->n = 0;
	emit(m, 0x61, 7, 1, off, 0);
	emit(m, 0x57, 7, 0, 0, 1023);
	emit(m, 0xb7, 8, 0, 0, 0);
	for (int i = 0; i < LOOKUPS; i++)
		turn(m, kind, map);
	emit(m, 0xb7, 0, 0, 0, 0);
	emit(m, 0x95, 0, 0, 0, 0);
}

/* ---- ours --------------------------------------------------------------- */

static struct nb_map *our_map(enum kind kind)
{
	const struct nb_map_spec *s = &specs[kind];
	struct nb_map_def def = { s->name, s->type, s->key_size, s->value_size, s->max_entries, 0 };
	struct nb_map *m;
	struct nb_err err;

	if (nb_map_new(&m, &def, &err))
		die("map", err.text);
	for (uint64_t key = 0, value = 0; key < ENTRIES; key++)
		if (nb_map_write(m, &key, &value, NB_ANY, &err))
			die("map", err.text);
	return m;
}

static void open_ours(enum kind kind)
{
	struct made m;
	struct nb_func func = { .name = "bench" };
	struct nb_prog prog = { .name = "bench",
				.section = "tuner",
				.hook = NB_HOOK_TUNER,
				.slots = m.slots,
				.funcs = &func,
				.nfuncs = 1 };
	struct nb_map_spec spec = specs[kind];
	struct nb_image img = {
		.name = "bench", .maps = &spec, .nmaps = 1, .progs = &prog, .nprogs = 1
	};
	struct nb_map *map = our_map(kind);
	struct nb_verdict *v;
	struct nb_err err;

	make(&m, kind, 0, offsetof(struct ncclbpf_tuner, coll));
	func.end = prog.nslots = m.n;
	if (nb_verify(&v, &img, 0, NULL, &err))
		die("verify", err.text);
	if (!v->accepted)
		die("verify", v->finding.known);
	if (nb_exec_new(&ours[kind], &img, 0, &map, NULL, &err) ||
	    compile_one(ours[kind], v->aux, &err))
		die("compile", err.text);
	nb_verdict_free(v);
	if (kind == ONE)
		one = map;
	nb_map_put(map);
}

static double our_round(enum kind kind)
{
	static struct ncclbpf_tuner ctx[64];
	double start = bench_now();

	for (uint32_t i = 0; i < EACH; i++) {
		ctx[i % 64].coll = i;
		nb_exec_run(ours[kind], &ctx[i % 64], sizeof(ctx[0]));
	}
	return (bench_now() - start) / EACH;
}

/* What that program is in C. */
static __attribute__((noinline)) int native_one(struct ncclbpf_tuner *ctx)
{
	uint64_t key = ctx->coll & 1023, value = 0;
	const uint64_t *v = one->lookup(one, &key, 0);

	if (v)
		value = *v;
	__asm__ volatile("" : : "r"(value));
	return 0;
}

typedef int native_fn(struct ncclbpf_tuner *ctx);

static double native_round(native_fn *native)
{
	static struct ncclbpf_tuner ctx[64];
	native_fn *volatile fn = native;
	double start = bench_now();

	for (uint32_t i = 0; i < EACH; i++) {
		ctx[i % 64].coll = i;
		fn(&ctx[i % 64]);
	}
	return (bench_now() - start) / EACH;
}

/* ---- a native table ---- */

/*
 * What there is to gain natively: open addressing in a table that is half
 * full, keys and values side by side, and no concurrency at all.
 */
static struct {
	uint64_t key, value;
	bool used;
} table[2 * ENTRIES];

static uint32_t home(uint64_t key)
{
	return (uint32_t)((key * 0x9e3779b97f4a7c15) >> 53);
}

_Static_assert(2 * ENTRIES == 1 << (64 - 53), "home is a place in the table");

static void fill_table(void)
{
	for (uint64_t key = 0; key < ENTRIES; key++) {
		uint32_t i = home(key);

		while (table[i].used)
			i = (i + 1) % (2 * ENTRIES);
		table[i].key = key;
		table[i].used = true;
	}
}

static inline const uint64_t *find(uint64_t key)
{
	uint32_t i = home(key);

	while (table[i].used && table[i].key != key)
		i = (i + 1) % (2 * ENTRIES);
	return table[i].used ? &table[i].value : NULL;
}

/* The program of make(), in C, with and without its look-ups. */
static __attribute__((noinline)) int native_many(struct ncclbpf_tuner *ctx)
{
	uint64_t key = ctx->coll & 1023, sum = 0;

	for (int i = 0; i < LOOKUPS; i++) {
		const uint64_t *v = find(key);

		if (!v)
			return 0;
		sum += *v;
		key = (key + 37) & 1023;
	}
	__asm__ volatile("" : : "r"(sum));
	return 0;
}

static __attribute__((noinline)) int native_none(struct ncclbpf_tuner *ctx)
{
	uint64_t key = ctx->coll & 1023, sum = 0;

	for (int i = 0; i < LOOKUPS; i++) {
		sum += key;
		key = (key + 37) & 1023;
		__asm__ volatile("" : "+r"(key));
	}
	__asm__ volatile("" : : "r"(sum));
	return 0;
}

/* ---- the kernel's ------------------------------------------------------- */

static int bpf(enum bpf_cmd cmd, union bpf_attr *attr)
{
	long rc = syscall(SYS_bpf, cmd, attr, sizeof(*attr));

	return rc < 0 ? -errno : (int)rc;
}

static int kernel_map(enum kind kind)
{
	const struct nb_map_spec *s = &specs[kind];
	uint64_t value = 0;
	union bpf_attr a;
	int fd, rc = 0;

	memset(&a, 0, sizeof(a));
	a.map_type = s->type;
	a.key_size = s->key_size;
	a.value_size = s->value_size;
	a.max_entries = s->max_entries;
	fd = bpf(BPF_MAP_CREATE, &a);
	for (uint64_t key = 0; fd >= 0 && !rc && key < ENTRIES; key++) {
		memset(&a, 0, sizeof(a));
		a.map_fd = (uint32_t)fd;
		a.key = (uintptr_t)&key;
		a.value = (uintptr_t)&value;
		rc = bpf(BPF_MAP_UPDATE_ELEM, &a);
	}
	return rc ? rc : fd;
}

static int open_kernel(enum kind kind)
{
	int map = kernel_map(kind);
	union bpf_attr a;
	struct made m;

	if (map < 0)
		return map;
	make(&m, kind, map, 0); /* __sk_buff: len */
	memset(&a, 0, sizeof(a));
	a.prog_type = BPF_PROG_TYPE_SOCKET_FILTER;
	a.insns = (uintptr_t)m.slots;
	a.insn_cnt = m.n;
	a.license = (uintptr_t) "GPL";
	return kernel[kind] = bpf(BPF_PROG_LOAD, &a);
}

/* Nanoseconds a run, or a negative error. */
static double kernel_round(enum kind kind)
{
	static unsigned char packet[64];
	union bpf_attr a;
	int rc;

	memset(&a, 0, sizeof(a));
	a.test.prog_fd = (uint32_t)kernel[kind];
	a.test.repeat = KERNEL_EACH;
	a.test.data_in = (uintptr_t)packet;
	a.test.data_size_in = sizeof(packet);
	rc = bpf(BPF_PROG_TEST_RUN, &a);
	return rc < 0 ? rc : (double)a.test.duration;
}

/* ---- rows --------------------------------------------------------------- */

static void print(enum kind kind)
{
	double ns[2];
	char key[64], text[160];

	for (int who = 0; who < 2; who++)
		ns[who] = (bench_median(took[who][kind], ROUNDS) -
			   bench_median(took[who][NONE], ROUNDS)) /
			  LOOKUPS;
	printf("%-50s %8.2f ns", kinds[kind].name, ns[0]);
	bench_row(kinds[kind].key, kinds[kind].name, ns[0], "ns", kinds[kind].ns);
	snprintf(key, sizeof(key), "kernel.%s", kind == ARRAY ? "array" : "hash");
	snprintf(text, sizeof(text), "%s / the kernel's", kinds[kind].name);
	if (kernel_error) {
		printf(", the kernel's: %s\n", strerror(-kernel_error));
		bench_skip(key, text, strerror(-kernel_error));
		return;
	}
	printf(", the kernel's %8.2f ns\n", ns[1]);
	bench_row(key, text, ns[0] / ns[1], "x", 0);
}

/* One after the other, either first: nothing else runs in between. */
static void pair(enum kind kind, native_fn *native, double ns[2])
{
	static double both[2][PAIRS];

	for (int i = 0; i < PAIRS; i++)
		for (int turn = 0; turn < 2; turn++)
			if ((i + turn) % 2)
				both[0][i] = our_round(kind);
			else
				both[1][i] = native_round(native);
	ns[0] = bench_median(both[0], PAIRS);
	ns[1] = bench_median(both[1], PAIRS);
}

static void print_table(void)
{
	double many[2], none[2];
	double ns, native;

	fill_table();
	pair(HASH, native_many, many);
	pair(NONE, native_none, none);
	ns = (many[0] - none[0]) / LOOKUPS;
	native = (many[1] - none[1]) / LOOKUPS;
	printf("%-50s %8.2f ns, in the native table %8.2f ns\n",
	       "hash look-up beside a native table's", ns, native);
	bench_row("native.hash",
		  "hash look-up, 8-byte key, in a native table without "
		  "concurrency",
		  native, "ns", 0);
}

static void print_one(void)
{
	double both[2], ns, native;

	pair(ONE, native_one, both);
	ns = both[0];
	native = both[1];
	printf("%-50s %8.2f ns, natively %8.2f ns\n", "a program of one hash look-up", ns, native);
	bench_row("jit.lookup_only", "one hash look-up, machine code / the same C natively",
		  ns / native, "x", 1.10);
	bench_anchor("lookup_only", native, ns);
}

int main(void)
{
	for (int k = 0; k < NKINDS; k++) {
		int fd = open_kernel((enum kind)k);

		open_ours((enum kind)k);
		kernel_error = kernel_error ? kernel_error : fd < 0 ? fd : 0;
	}
	for (int round = 0; round < ROUNDS; round++) {
		bench_yardstick();
		for (int k = 0; k < ONE; k++) {
			took[0][k][round] = our_round((enum kind)k);
			if (!kernel_error)
				took[1][k][round] = kernel_round((enum kind)k);
			if (took[1][k][round] < 0)
				kernel_error = (int)took[1][k][round];
		}
	}
	print(ARRAY);
	print(HASH);
	print_table();
	print_one();
	for (int k = 0; k < NKINDS; k++)
		nb_exec_free(ours[k]);
	return 0;
}
