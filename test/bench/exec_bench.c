// SPDX-License-Identifier: MIT
// exec_bench POLICY...: nanoseconds a run of each policy's programs takes, as
// machine code, interpreted, and as the same C compiled for this machine and
// called directly (test/bench/native.h), all on the same maps and contexts.
// They take turns in short rounds, so that a noisy machine disturbs all alike;
// medians are printed, as ratios to native. A program without a native twin
// is an error; exec_bench -n POLICY... looks for that and no more. Programs on
// other hooks than those of decisions and collectives are left out. Of the
// policies behind -r, ports of tuners' rules, only decisions are measured,
// half of which are those of eight nodes.
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/bpf/exec/run/code.h"
#include "core/bpf/generation/policy.h"
#include "core/defs/ctx.h"
#include "core/bpf/exec/run/interp.h"
#include "core/bpf/verify/verify.h"
#include "test/bench/bench.h"
#include "test/unit/compile_one.h"

enum { CONTEXTS = 64, EACH = 64 * CONTEXTS, ROUNDS = 101, COLUMNS = 3 };

/* The policies' functions and map variables, as native code. */
#define TUNER(name) int name(struct ncclbpf_tuner *ctx);
TUNER(noop)
TUNER(size_aware)
TUNER(nvlink_ring_mid)
TUNER(adaptive_channels)
TUNER(slo_enforcer)
TUNER(force_choice)
TUNER(cheap_ring)
TUNER(gfx950_allreduce)
TUNER(asked)
TUNER(aws_model)
TUNER(aws_regions)
TUNER(hysteresis)
TUNER(log_regions)
TUNER(nvidia_basic)
TUNER(scaled_costs)
TUNER(small_first)
TUNER(vllm_custom)
#define COLL_DONE(name) int name(struct ncclbpf_coll_done *ctx);
COLL_DONE(done)
COLL_DONE(time_class)
COLL_DONE(measure)
extern struct nb_map *channels, *decided, *targets, *model, *outcomes, *force, *latency, *took,
	*limits, *measured, *wanted, *most;

/* A program by any type of its context. */
typedef int native_fn(void *ctx);

static const struct {
	const char *name;
	native_fn *fn;
} natives[] = {
#define NATIVE(name)                                       \
	{                                                  \
#name, (native_fn *)(void (*)(void))(name) \
	}
	NATIVE(noop),
	NATIVE(size_aware),
	NATIVE(nvlink_ring_mid),
	NATIVE(adaptive_channels),
	NATIVE(slo_enforcer),
	NATIVE(force_choice),
	NATIVE(cheap_ring),
	NATIVE(gfx950_allreduce),
	NATIVE(asked),
	NATIVE(aws_model),
	NATIVE(aws_regions),
	NATIVE(hysteresis),
	NATIVE(log_regions),
	NATIVE(nvidia_basic),
	NATIVE(scaled_costs),
	NATIVE(small_first),
	NATIVE(vllm_custom),
	NATIVE(done),
	NATIVE(time_class),
	NATIVE(measure),
};

static const struct {
	const char *name;
	struct nb_map **variable;
} variables[] = {
#define VARIABLE(name)         \
	{                      \
#name, &(name) \
	}
	VARIABLE(channels), VARIABLE(decided),	VARIABLE(targets), VARIABLE(model),
	VARIABLE(outcomes), VARIABLE(force),	VARIABLE(latency), VARIABLE(took),
	VARIABLE(limits),   VARIABLE(measured), VARIABLE(wanted),  VARIABLE(most),
};

/* Contexts of one hook. */
struct asked {
	unsigned char *first;
	size_t size;
};

struct row {
	const char *name, *policy;
	native_fn *native;
	bool maps; /* it has some */
	bool rule;
	struct asked with;
	struct nb_exec *x;
	double ns[COLUMNS][ROUNDS];
};

static struct ncclbpf_tuner contexts[CONTEXTS], questions[CONTEXTS];
static struct ncclbpf_coll_done samples[CONTEXTS];
static float costs[NCCL_NUM_ALGOS * NCCL_NUM_PROTOS];

static void die(const char *what, const char *why)
{
	fprintf(stderr, "exec_bench: %s: %s\n", what, why);
	exit(1);
}

/* ---- what programs see ---- */

/* AllReduce of 1 KiB to 1 GiB on 8 ranks of one node, and what came of it. */
static void fill_contexts(void)
{
	uint64_t x = 1;

	for (unsigned i = 0; i < NCCL_NUM_ALGOS * NCCL_NUM_PROTOS; i++)
		costs[i] = 100.0f + (float)(i * 5 % 21);
	for (unsigned i = 0; i < CONTEXTS; i++) {
		x = x * 6364136223846793005 + 1442695040888963407;
		contexts[i] = (struct ncclbpf_tuner){
			.bytes = (uint64_t)1024 << (x >> 40) % 21,
			.coll = NCCL_COLL_ALL_REDUCE,
			.ranks = 8,
			.nodes = 1,
			.pipe_ops = 1,
			.nvl_domains = 1,
			.nvl_min_ranks = 8,
			.nvl_max_ranks = 8,
			.usable = 0x3f,
			.nccl_algo = NCCL_ALGO_TREE,
			.nccl_proto = NCCL_PROTO_LL,
			.algo = NCCL_ALGO_UNDEF,
			.proto = NCCL_PROTO_UNDEF,
			.costs = costs,
		};
		questions[i] = contexts[i];
		questions[i].usable = (1u << NCCL_NUM_ALGOS * NCCL_NUM_PROTOS) - 1;
		questions[i].nodes = i % 2 ? 1 : 8;
		questions[i].ranks = 8 * questions[i].nodes;
		samples[i] = (struct ncclbpf_coll_done){
			.bytes = contexts[i].bytes,
			.coll = NCCL_COLL_ALL_REDUCE,
			.ranks = 8,
			.nodes = 1,
			.exec_ns = 5000 + (contexts[i].bytes >> 8),
		};
	}
}

/* Words that make the policies do their work: see their struct definitions. */
static void fill_map(struct nb_map *m)
{
	const char *name = nb_map_definition(m)->name;
	struct nb_err err;

	for (uint32_t i = 0; i < 64; i++) {
		uint32_t key[2] = { i, 0 };
		uint64_t v[4] = { 0 };

		if (!strcmp(name, "limits")) {
			key[0] = NCCL_COLL_ALL_REDUCE;
			key[1] = i;
			v[0] = 16;
		} else if (!strcmp(name, "targets")) {
			key[0] = NCCL_COLL_ALL_REDUCE;
			key[1] = i < 30 ? i : 64; /* half by class */
			if (i % 2 && i < 30)
				continue;
			v[0] = 40000;
			v[1] = 16;
		} else if (!strcmp(name, "model")) {
			v[0] = 5000;
			v[1] = 9000;
			v[2] = 1;
		} else if (!strcmp(name, "channels") || !strcmp(name, "wanted")) {
			v[0] = 8;
		} else if (!strcmp(name, "force")) {
			v[0] = (uint64_t)NCCL_PROTO_SIMPLE << 32 | 1;
			v[1] = (uint64_t)1 << 32 | 16;
		} else {
			return;
		}
		/* indices past the end are refused: no matter */
		nb_map_write(m, key, v, NB_ANY, &err);
	}
}

/* ---- programs ---- */

static struct nb_image *read_image(const char *path)
{
	FILE *f = fopen(path, "rb");
	struct nb_image *img;
	struct nb_err err;
	unsigned char *bytes;
	struct stat st;

	if (!f || fstat(fileno(f), &st))
		die(path, "cannot be read");
	bytes = malloc((size_t)st.st_size + 1);
	if (!bytes || fread(bytes, 1, (size_t)st.st_size, f) != (size_t)st.st_size)
		die(path, "cannot be read");
	fclose(f);
	if (nb_image_read(&img, bytes, (size_t)st.st_size, &err))
		die(path, err.text);
	free(bytes);
	return img;
}

/*
 * Maps for interpreter, machine code and native code together. Policies come before rules, whose
 * maps of the same names are variables of their own files.
 */
static void make_maps(const struct nb_image *img, struct nb_map **maps)
{
	struct nb_err err;

	for (uint32_t i = 0; i < img->nmaps; i++) {
		if (nb_policy_map_new(&maps[i], img, i, &err))
			die(img->name, err.text);
		fill_map(maps[i]);
		for (size_t v = 0; v < sizeof(variables) / sizeof(variables[0]); v++)
			if (!*variables[v].variable &&
			    !strcmp(img->maps[i].name, variables[v].name))
				*variables[v].variable = maps[i];
	}
}

/* Those of other hooks are measured where they run, or not in NCCL's way. */
static bool measured_here(enum nb_hook hook, bool rule)
{
	return hook == NB_HOOK_TUNER || (hook == NB_HOOK_COLL_DONE && !rule);
}

static native_fn *native_of(const char *name)
{
	for (size_t i = 0; i < sizeof(natives) / sizeof(natives[0]); i++)
		if (!strcmp(name, natives[i].name))
			return natives[i].fn;
	die(name, "has no native twin: add it to exec_bench.c");
	return NULL;
}

static void open_prog(struct row *r, const struct nb_image *img, uint32_t i,
		      struct nb_map *const *maps, const struct nb_verdict *v)
{
	struct nb_err err;

	r->name = strdup(img->progs[i].name);
	r->policy = strdup(img->name);
	r->native = native_of(r->name);
	r->maps = img->nmaps > 0;
	r->with = img->progs[i].hook == NB_HOOK_TUNER
			  ? (struct asked){ (void *)(r->rule ? questions : contexts),
					    sizeof(contexts[0]) }
			  : (struct asked){ (void *)samples, sizeof(samples[0]) };
	if (nb_exec_new(&r->x, img, i, maps, NULL, &err) || compile_one(r->x, v->aux, &err))
		die(img->name, err.text);
}

/* A row for each program; how many. */
static int open_rows(struct row *rows, const char *path, bool rule)
{
	struct nb_image *img = read_image(path);
	struct nb_map *maps[NB_IMAGE_MAX_MAPS];
	struct nb_verdict *v;
	struct nb_err err;
	int n = 0;

	make_maps(img, maps);
	for (uint32_t i = 0; i < img->nprogs; i++) {
		if (!measured_here(img->progs[i].hook, rule))
			continue;
		if (nb_verify(&v, img, i, NULL, &err))
			die(path, err.text);
		if (!v->accepted)
			die(path, "not accepted by the verifier");
		rows[n].rule = rule;
		open_prog(&rows[n++], img, i, maps, v);
		nb_verdict_free(v);
	}
	for (uint32_t i = 0; i < img->nmaps; i++)
		nb_map_put(maps[i]);
	nb_image_free(img);
	return n;
}

/* ---- time ---- */

static double native_round(const struct row *r)
{
	native_fn *volatile fn = r->native;
	double start = bench_now();

	for (unsigned i = 0; i < EACH; i++)
		fn(r->with.first + i % CONTEXTS * r->with.size);
	return (bench_now() - start) / EACH;
}

static double jit_round(const struct row *r)
{
	double start = bench_now();

	for (unsigned i = 0; i < EACH; i++)
		nb_exec_run(r->x, r->with.first + i % CONTEXTS * r->with.size, r->with.size);
	return (bench_now() - start) / EACH;
}

static double interpreter_round(const struct row *r)
{
	double start = bench_now();

	for (unsigned i = 0; i < EACH / 4; i++)
		nb_exec_interpret(r->x, r->with.first + i % CONTEXTS * r->with.size, r->with.size);
	return (bench_now() - start) / (EACH / 4);
}

static void print_row(struct row *r)
{
	double native = bench_median(r->ns[0], ROUNDS), jit = bench_median(r->ns[1], ROUNDS);
	double interpreter = bench_median(r->ns[2], ROUNDS);

	printf("%-20s %8.2f %8.2f %8.2f %9.2f %9.2f\n", r->name, native, jit, interpreter,
	       jit / native, interpreter / native);
}

/* What a call of machine code may take, and more than a native one's 1.6. */
#define CALL_NS 2.5
#define MORE_NS 0.9
/* What is longer natively is judged by the ratio, without maps too. */
#define RATIO_NS 5.0

static void table_rows(struct row *r)
{
	double native = bench_median(r->ns[0], ROUNDS);
	double jit = bench_median(r->ns[1], ROUNDS);
	double interpreter = bench_median(r->ns[2], ROUNDS);
	char key[64], text[160];

	snprintf(key, sizeof(key), "%s.%s", r->rule ? "rule" : "jit", r->name);
	snprintf(text, sizeof(text), "%s%s%s, machine code", r->name,
		 strcmp(r->name, r->policy) ? " of " : "",
		 strcmp(r->name, r->policy) ? r->policy : "");
	if (!strcmp(r->name, "noop")) {
		bench_row(key, text, jit, "ns", CALL_NS);
	} else if ((r->maps && !r->rule) || native > RATIO_NS) {
		strcat(text, " / the same C natively");
		bench_row(key, text, jit / native, "x", 1.10);
	} else {
		strcat(text, " over the same C natively");
		bench_row(key, text, jit - native, "ns", MORE_NS);
	}
	if (!r->rule)
		bench_anchor(r->name, native, jit);
	if (!strcmp(r->name, "slo_enforcer"))
		bench_row("interp.slo_enforcer", "slo_enforcer, interpreter", interpreter, "ns",
			  300);
}

/* Check that each program has a twin. */
static int names_only(char *const *paths, int n)
{
	bool rule = false;

	for (int i = 0; i < n; i++) {
		struct nb_image *img;

		if (!strcmp(paths[i], "-r")) {
			rule = true;
			continue;
		}
		img = read_image(paths[i]);
		for (uint32_t k = 0; k < img->nprogs; k++)
			if (measured_here(img->progs[k].hook, rule) &&
			    native_of(img->progs[k].name))
				printf("%s.%s\n", rule ? "rule" : "jit", img->progs[k].name);
		nb_image_free(img);
	}
	return 0;
}

static void run_rounds(struct row *rows, int nrows)
{
	for (int round = -5; round < ROUNDS; round++) {
		bench_yardstick();
		for (int i = 0; i < nrows; i++) {
			double one[COLUMNS] = { native_round(&rows[i]), jit_round(&rows[i]),
						interpreter_round(&rows[i]) };

			for (int c = 0; round >= 0 && c < COLUMNS; c++)
				rows[i].ns[c][round] = one[c];
		}
	}
}

int main(int argc, char **argv)
{
	struct row *rows = calloc((size_t)argc * NB_IMAGE_MAX_PROGS, sizeof(*rows));
	bool rule = false;
	int nrows = 0;

	if (!rows || argc < 2)
		die("usage", "exec_bench [-n] POLICY... [-r POLICY...]");
	if (!strcmp(argv[1], "-n"))
		return names_only(argv + 2, argc - 2);
	fill_contexts();
	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "-r"))
			rule = true;
		else
			nrows += open_rows(&rows[nrows], argv[i], rule);
	}
	run_rounds(rows, nrows);
	printf("%-20s %8s %8s %8s %9s %9s\n", "ns per run (median)", "native", "compiled",
	       "interp.", "comp/nat", "int/nat");
	for (int i = 0; i < nrows; i++) {
		print_row(&rows[i]);
		table_rows(&rows[i]);
		nb_exec_free(rows[i].x);
	}
	free(rows);
	return 0;
}
