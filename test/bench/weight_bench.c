// SPDX-License-Identifier: MIT
// What the verifier says a helper costs, in weighted instructions, beside the
// nanoseconds that it takes. A row is a program that makes one call many times
// in the situation that costs most of those that the weight is meant for:
// chains as long as they may get, keys of one path of a trie, a full LRU hash.
// Weight and time are those of the program without the calls taken off, and
// divided by their number; they include the instructions that load arguments.
// The least of many rounds counts, so that a busy machine does not.
//
//   weight_bench             the table of docs/verifier.md, as Markdown
//
// Fails where a call takes over twice its weight in nanoseconds: then runs take
// longer than NCCLBPF_MAX_RUN promises.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/defs/ctx.h"
#include "core/exec/jit/compile.h"
#include "core/exec/run/exec.h"
#include "core/exec/run/trace.h"
#include "core/image/image.h"
#include "core/isa/insn.h"
#include "core/map/ops.h"
#include "core/verify/verify.h"
#include "test/bench/bench.h"
#include "test/unit/asm.h"

enum { CALLS = 16, SLOTS = 4096, ROUNDS = 101, NS = 50000, TEXT = 1 << 16 };
enum { FORMAT = 200 };

enum map {
	HASH8,
	FULL_LRU,
	PERCPU,
	TRIE,
	BLOOM,
	QUEUE,
	RING,
	WIDE,
	SPARSE,
	ARRAY,
	FORMATS,
	NMAPS
};

/* Filled before the programs are verified. */
static unsigned char format[FORMAT + 1];

static struct nb_map_spec maps[NMAPS] = {
	[HASH8] = { .name = "hash8",
		    .type = NB_MAP_HASH,
		    .key_size = 8,
		    .value_size = 8,
		    .max_entries = 4096 },
	[FULL_LRU] = { .name = "lru",
		       .type = NB_MAP_LRU_HASH,
		       .key_size = 8,
		       .value_size = 8,
		       .max_entries = 4096 },
	[PERCPU] = { .name = "percpu",
		     .type = NB_MAP_PERCPU_HASH,
		     .key_size = 8,
		     .value_size = 64,
		     .max_entries = 64 },
	[TRIE] = { .name = "trie",
		   .type = NB_MAP_LPM_TRIE,
		   .key_size = 4 + 16,
		   .value_size = 8,
		   .max_entries = 256,
		   .flags = NB_F_NO_PREALLOC },
	[BLOOM] = { .name = "bloom",
		    .type = NB_MAP_BLOOM_FILTER,
		    .value_size = 64,
		    .max_entries = 1024 },
	[QUEUE] = { .name = "queue",
		    .type = NB_MAP_QUEUE,
		    .value_size = 64,
		    .max_entries = 1024 },
	[RING] = { .name = "ring",
		   .type = NB_MAP_RINGBUF,
		   .max_entries = 1 << 20 },
	[WIDE] = { .name = "wide",
		   .type = NB_MAP_ARRAY,
		   .key_size = 4,
		   .value_size = 4096,
		   .max_entries = 2 },
	[SPARSE] = { .name = "sparse",
		     .type = NB_MAP_HASH,
		     .key_size = 8,
		     .value_size = 8,
		     .max_entries = 1 << 16 },
	[ARRAY] = { .name = "array",
		    .type = NB_MAP_ARRAY,
		    .key_size = 4,
		    .value_size = 8,
		    .max_entries = 64 },
	[FORMATS] = { .name = ".rodata",
		      .type = NB_MAP_ARRAY,
		      .key_size = 4,
		      .value_size = sizeof(format),
		      .max_entries = 1,
		      .flags = NB_F_MMAPABLE | NB_F_RDONLY_PROG,
		      .origin = NB_ORIGIN_RODATA,
		      .init = format },
};

/* The inverse, mod 2^64, of the factor that unseeded hashes have: multiples of
 * it share a bucket. */
#define BACK UINT64_C(0xf1de83e19937733d)

static struct nb_map *map[NMAPS];
static struct nb_trace *trace;

static void die(const char *what, const char *why)
{
	fprintf(stderr, "weight_bench: %s: %s\n", what, why);
	exit(1);
}

/* ---- contents ---- */

static void make_maps(void)
{
	struct nb_err err;

	for (int i = 0; i < NMAPS; i++) {
		const struct nb_map_def def = {
			.name = maps[i].name,
			.type = maps[i].type,
			.key_size = maps[i].key_size,
			.value_size = maps[i].value_size,
			.max_entries = maps[i].max_entries,
			.flags = maps[i].flags & NB_F_NO_PREALLOC
		};

		if (nb_map_new(&map[i], &def, &err))
			die(maps[i].name, err.text);
	}
}

static void fill_maps(void)
{
	uint64_t value[8] = { 0 };

	for (uint64_t i = 1; i < NB_MAP_CHAIN_MAX; i++) {
		uint64_t key = i * BACK;

		nb_map_update(map[HASH8], &key, value, NB_ANY, 0);
	}
	for (uint64_t i = 0; i < maps[FULL_LRU].max_entries; i++)
		nb_map_update(map[FULL_LRU], &i, value, NB_ANY, 0);
	nb_map_update(map[FORMATS], &(uint32_t){ 0 }, format, NB_ANY, 0);
	for (uint32_t bits = 0; bits <= 128; bits++) {
		struct {
			uint32_t bits;
			uint8_t data[16];
		} key = { bits, { 0 } };

		nb_map_update(map[TRIE], &key, value, NB_ANY, 0);
	}
}

/* ---- programs ---- */

struct row {
	const char *what;
	const char *before, *call; /* once; of each call */
	int calls;		   /* 0: CALLS */
};

#define KEY8 "lddw %r1, 0\nstxdw [%r10-8], %r1\n"
#define CHAIN                                                              \
	"lddw %r1, 0\nstxdw [%r10-8], %r1\nlddw %r1, 0\nstxdw [%r10-16], " \
	"%r1\n"
#define ZERO64                                                               \
	"mov %r1, 0\nstxdw [%r10-64], %r1\nstxdw [%r10-56], %r1\n"           \
	"stxdw [%r10-48], %r1\nstxdw [%r10-40], %r1\nstxdw [%r10-32], %r1\n" \
	"stxdw [%r10-24], %r1\nstxdw [%r10-16], %r1\nstxdw [%r10-8], %r1\n"
#define AT(map, n) "lddw map %r1, " #map "\nmov %r2, %r10\nadd %r2, -" #n "\n"
#define VALUE "mov %r3, %r10\nadd %r3, -16\nmov %r4, 0\n"
#define CALL(n) "call " #n "\n"

static const struct row rows[] = {
	{ "the clock (`bpf_ktime_get_ns`)", "", CALL(5), 0 },
	{ "`bpf_mul_div`", "mov %r6, -1\n",
	  "mov %r1, %r6\nmov %r2, %r6\nmov %r3, 3\n" CALL(0x20004), 0 },
	{ "`bpf_nccl_cheapest_algo`", "mov %r6, %r1\n",
	  "mov %r1, %r6\nmov %r2, -1\n" CALL(0x20003), 0 },
	{ "`bpf_nccl_cost`", "mov %r6, %r1\n",
	  "mov %r1, %r6\nmov %r2, 1\nmov %r3, 1\n" CALL(0x20001), 0 },
	{ "`bpf_get_prandom_u32`", "", CALL(7), 0 },
	{ "`bpf_trace_printk`, 3 numbers, 48 characters",
	  "lddw %r1, 0x20786c6c2520786c\nstxdw [%r10-48], %r1\n"
	  "stxdw [%r10-16], %r1\nstxdw [%r10-24], %r1\n"
	  "stxdw [%r10-32], %r1\nstxdw [%r10-40], %r1\n"
	  "lddw %r1, 0x00786c6c25206c25\nstxdw [%r10-8], %r1\n",
	  "mov %r1, %r10\nadd %r1, -48\nmov %r2, 48\nmov %r3, -1\n"
	  "mov %r4, -2\nmov %r5, -3\n" CALL(6),
	  0 },
	{ "`bpf_snprintf`, 12 numbers, 200 characters",
	  "mov %r1, -1\n"
	  "stxdw [%r10-96], %r1\nstxdw [%r10-88], %r1\nstxdw [%r10-80], %r1\n"
	  "stxdw [%r10-72], %r1\nstxdw [%r10-64], %r1\nstxdw [%r10-56], %r1\n"
	  "stxdw [%r10-48], %r1\nstxdw [%r10-40], %r1\nstxdw [%r10-32], %r1\n"
	  "stxdw [%r10-24], %r1\nstxdw [%r10-16], %r1\nstxdw [%r10-8], %r1\n",
	  "mov %r1, %r10\nadd %r1, -480\nmov %r2, 384\n"
	  "lddw map_value %r3, 10, 0\nmov %r4, %r10\nadd %r4, -96\n"
	  "mov %r5, 96\n" CALL(165),
	  0 },
	{ "`bpf_strtol`, 24 characters",
	  "lddw %r1, 0x3030303030303030\nstxdw [%r10-32], %r1\n"
	  "stxdw [%r10-24], %r1\nstxdw [%r10-16], %r1\n",
	  "mov %r1, %r10\nadd %r1, -32\nmov %r2, 24\nmov %r3, 10\n"
	  "mov %r4, %r10\nadd %r4, -8\n" CALL(105),
	  0 },
	{ "look-up in an array", "stw [%r10-4], 5\n", AT(9, 4) CALL(1), 0 },
	{ "look-up in a hash, key of 8 bytes, 31 others in the bucket", CHAIN,
	  AT(0, 8) CALL(1), 0 },
	{ "update in a hash, 31 others in the bucket", CHAIN,
	  AT(0, 8) VALUE CALL(2), 0 },
	{ "update of a full LRU hash with a new key (the weight allows for "
	  "1,024 elements passed)",
	  CHAIN "mov %r7, 0\n",
	  "call 7\nlsh %r0, 16\nstxdw [%r10-8], %r0\n" AT(1, 8) VALUE CALL(2),
	  0 },
	{ "update and deletion in a per-CPU hash, 64 bytes (the weight allows "
	  "for 1,024 CPUs)",
	  ZERO64 "stxdw [%r10-72], %r1\n",
	  AT(2, 72) "mov %r3, %r10\nadd %r3, -64\nmov %r4, 0\n" CALL(2)
		  AT(2, 72) CALL(3),
	  0 },
	{ "look-up in a trie, key of 128 bits, a prefix of each length",
	  "mov %r1, 0\nstxdw [%r10-24], %r1\nstxdw [%r10-16], %r1\n"
	  "stxdw [%r10-8], %r1\nstw [%r10-20], 128\n",
	  AT(3, 20) CALL(1), 0 },
	{ "a Bloom filter asked for 64 bytes", ZERO64, AT(4, 64) CALL(89), 0 },
	{ "a Bloom filter given 64 bytes", ZERO64,
	  AT(4, 64) "mov %r3, 0\n" CALL(87), 0 },
	{ "a queue given and asked for 64 bytes", ZERO64,
	  AT(5, 64) "mov %r3, 0\n" CALL(87) AT(5, 64) CALL(88), 0 },
	{ "a record of 64 bytes to a ring buffer that is full", ZERO64,
	  AT(6, 64) "mov %r3, 64\nmov %r4, 1\n" CALL(130), 0 },
	{ "update of an array, 4,096 bytes",
	  "stw [%r10-4], 0\n" AT(7, 4)
		  CALL(1) "jeq %r0, 0, out\nmov %r6, %r0\n",
	  AT(7, 4) "mov %r3, %r6\nmov %r4, 0\n" CALL(2), 0 },
	{ "walk of an empty hash of 65,536", "",
	  "lddw map %r1, 8\nlddw func %r2, back\nmov %r3, 0\nmov %r4, 0\n" CALL(
		  164),
	  2 },
};

struct made {
	struct nb_exec *x;
	uint32_t weight;
};

/* The program of @row with @calls calls. */
static struct made make(const struct row *row, int calls)
{
	static struct nb_slot slots[SLOTS];
	static char text[TEXT];
	struct nb_func funcs[2] = { { .name = "f" }, { .name = "back" } };
	struct nb_prog prog = { .name = "f",
				.section = "tuner",
				.hook = NB_HOOK_TUNER,
				.slots = slots,
				.funcs = funcs,
				.nfuncs = 1 };
	const struct nb_image img = { .name = "weights",
				      .maps = maps,
				      .nmaps = NMAPS,
				      .progs = &prog,
				      .nprogs = 1 };
	const struct nb_verify_opts opts = { .coherence_off = true };
	bool back = strstr(row->call, "back") != NULL;
	struct made m;
	struct nb_verdict *v;
	struct nb_err err;
	size_t n, used;

	used = (size_t)snprintf(text, sizeof(text), "%s", row->before);
	for (int i = 0; i < calls; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s",
					 row->call);
	snprintf(text + used, sizeof(text) - used,
		 "out:\nmov %%r0, 0\nexit\n%s",
		 back && calls ? "back:\nmov %r0, 0\nexit\n" : "");
	if (nb_asm(slots, SLOTS, &n, text, &err))
		die(row->what, err.text);
	funcs[0].end = prog.nslots = (uint32_t)n;
	if (back && calls) {
		prog.nfuncs = 2;
		funcs[0].end = funcs[1].start = (uint32_t)n - 2;
		funcs[1].end = (uint32_t)n;
	}
	if (nb_verify(&v, &img, 0, &opts, &err))
		die(row->what, err.text);
	if (!v->accepted)
		die(row->what, v->finding.required);
	m.weight = v->first;
	if (nb_exec_new(&m.x, &img, 0, map, trace, &err) ||
	    nb_exec_compile(m.x, v->aux, &err))
		die(row->what, err.text);
	nb_verdict_free(v);
	return m;
}

/* Nanoseconds of a run. */
static double timed(const struct nb_exec *x, uint32_t runs)
{
	static struct ncclbpf_tuner ctx = { .bytes = 1 << 20, .ranks = 8 };
	double start = bench_now();

	for (uint32_t i = 0; i < runs; i++)
		nb_exec_run(x, &ctx, sizeof(ctx));
	return (bench_now() - start) / runs;
}

static double least(double a, double b)
{
	return a < b ? a : b;
}

/* The row's line; how many times its weight it takes. */
static double measure(const struct row *row)
{
	int calls = row->calls ? row->calls : CALLS;
	struct made with = make(row, calls), without = make(row, 0);
	double a = 1e18, b = 1e18, ns, weight;
	uint32_t runs = (uint32_t)(NS / (timed(with.x, 20) + 1)) + 1;

	for (int i = 0; i < ROUNDS; i++) {
		a = least(a, timed(with.x, runs));
		b = least(b, timed(without.x, runs));
	}
	ns = (a - b) / calls;
	weight = (double)(with.weight - without.weight) / calls;
	printf("| %s | %.0f | %.*f | %.2f |\n", row->what, weight, ns < 10, ns,
	       ns / weight);
	nb_exec_free(with.x);
	nb_exec_free(without.x);
	return ns / weight;
}

int main(void)
{
	bool over = false;

	memset(format, '.', FORMAT);
	for (size_t i = 0; i < 12; i++)
		memcpy(format + 5 * i, "%llx ", 5);
	trace = nb_trace_new();
	if (!trace)
		die("trace", "no memory");
	make_maps();
	fill_maps();
	puts("| call | weight | ns | ns each |\n|---|---|---|---|");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		over |= measure(&rows[i]) > 2;
	return over;
}
