// SPDX-License-Identifier: MIT
// What the verifier says a helper costs, in weighted instructions, beside the
// nanoseconds that it takes. A row is a program that makes one call many times
// in the situation that costs most of those that the weight is meant for:
// chains as long as they may get, a full LRU hash.
// Weight and time are those of the program without the calls taken off, and
// divided by their number; they include the instructions that load arguments.
// The least of many rounds counts, so that a busy machine does not.
//
//   weight_bench             a table, as Markdown
//
// Fails where a call takes over twice its weight in nanoseconds: then runs take
// longer than NCCLBPF_MAX_RUN promises.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/defs/ctx.h"
#include "core/bpf/exec/run/exec.h"
#include "core/bpf/exec/run/trace.h"
#include "core/bpf/image/image.h"
#include "core/bpf/isa/insn.h"
#include "core/bpf/map/ops.h"
#include "core/bpf/map/ringbuf.h"
#include "core/bpf/verify/verify.h"
#include "test/bench/bench.h"
#include "test/bench/weight_rows.h"
#include "test/unit/asm.h"
#include "test/unit/map_spec.h"
#include "test/unit/compile_one.h"

enum { SLOTS = 4096, ROUNDS = 101, NS = 50000, TEXT = 1 << 16 };
enum { FORMAT = 200 };

/* Filled before the programs are verified. */
static unsigned char format[FORMAT + 1];

static struct nb_map_spec maps[WEIGHT_NMAPS] = {
	[HASH8] = MAP_SPEC("hash8", HASH, 8, 8, 4096, 0),
	[FULL_LRU] = MAP_SPEC("lru", LRU_HASH, 8, 8, 4096, 0),
	[RING] = MAP_SPEC("ring", RINGBUF, 0, 0, 1 << 20, 0),
	[WIDE] = MAP_SPEC("wide", ARRAY, 4, 4096, 2, 0),
	[SPARSE] = MAP_SPEC("sparse", HASH, 8, 8, 1 << 16, 0),
	[ARRAY] = MAP_SPEC("array", ARRAY, 4, 8, 64, 0),
	[FORMATS] = { .name = ".rodata",
		      .type = NB_MAP_ARRAY,
		      .key_size = 4,
		      .value_size = sizeof(format),
		      .max_entries = 1,
		      .flags = NB_F_MMAPABLE | NB_F_RDONLY_PROG,
		      .origin = NB_ORIGIN_RODATA,
		      .init = format },
	[LONG] = MAP_SPEC("long", HASH, LONG_KEY, 8, 4096, 0),
	[CPUS] = MAP_SPEC("cpus", PERCPU_ARRAY, 4, 64, 4, 0),
	[DRAINED] = MAP_SPEC("drained", RINGBUF, 0, 0, 1 << 20, 0),
	[CHAINS] = MAP_SPEC("chains", HASH, LONG_KEY, 8, CHAINED, 0),
};

/* The inverse, mod 2^64, of the factor that unseeded hashes have: multiples of
 * it share a bucket. */
#define BACK UINT64_C(0xf1de83e19937733d)

static struct nb_map *map[WEIGHT_NMAPS];
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

	for (int i = 0; i < WEIGHT_NMAPS; i++) {
		struct nb_map_def def = nb_map_spec_def(&maps[i]);

		def.flags &= NB_F_NO_PREALLOC;
		if (nb_map_new(&map[i], &def, &err))
			die(maps[i].name, err.text);
	}
}

/* Add a key of zeros and the number @last to a map of long keys. Zeros hash to
 * 0, so the last word alone decides the bucket. */
static void add_long(enum map to, uint64_t last)
{
	uint64_t key[LONG_KEY / 8] = { 0 }, value = 0;

	key[LONG_KEY / 8 - 1] = last * BACK;
	if (nb_map_update(map[to], key, &value, NB_ANY, 0))
		die(maps[to].name, "a key finds no room");
}

static void fill_maps(void)
{
	uint64_t value[8] = { 0 };

	for (uint64_t i = 1; i < NB_MAP_CHAIN_MAX; i++)
		add_long(LONG, i);
	/* The map has 2^14 buckets, which the upper 14 bits choose. */
	for (uint64_t i = 0; i < CHAINED; i++)
		add_long(CHAINS, i / NB_MAP_CHAIN_MAX << 50 | (i % NB_MAP_CHAIN_MAX));

	for (uint64_t i = 1; i < NB_MAP_CHAIN_MAX; i++) {
		uint64_t key = i * BACK;

		nb_map_update(map[HASH8], &key, value, NB_ANY, 0);
	}
	for (uint64_t i = 0; i < maps[FULL_LRU].max_entries; i++)
		nb_map_update(map[FULL_LRU], &i, value, NB_ANY, 0);
	nb_map_update(map[FORMATS], &(uint32_t){ 0 }, format, NB_ANY, 0);
}

/* ---- programs ---- */

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
	const struct nb_image img = {
		.name = "weights", .maps = maps, .nmaps = WEIGHT_NMAPS, .progs = &prog, .nprogs = 1
	};
	const struct nb_verify_opts opts = { .coherence_off = true };
	bool back = strstr(row->call, "back") != NULL;
	struct made m;
	struct nb_verdict *v;
	struct nb_err err;
	size_t n, used;

	used = (size_t)snprintf(text, sizeof(text), "%s", row->before);
	for (int i = 0; i < calls; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s", row->call);
	snprintf(text + used, sizeof(text) - used, "out:\nmov %%r0, 0\nexit\n%s",
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
	m.weight = v->runs.first + row->steps * v->runs.iteration * (calls != 0);
	if (nb_exec_new(&m.x, &img, 0, map, trace, &err) || compile_one(m.x, v->aux, &err))
		die(row->what, err.text);
	nb_verdict_free(v);
	return m;
}

/* Nanoseconds of a run. */
static double timed(const struct nb_exec *x, uint32_t runs)
{
	static struct ncclbpf_tuner ctx = { .bytes = 1 << 20, .ranks = 8 };
	unsigned char record[64];
	size_t size;
	double start;

	while (!nb_ringbuf_read(map[DRAINED], record, sizeof(record), &size))
		;
	start = bench_now();

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
	printf("| %s | %.0f | %.*f | %.2f |\n", row->what, weight, ns < 10, ns, ns / weight);
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
