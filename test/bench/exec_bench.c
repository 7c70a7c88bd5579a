// SPDX-License-Identifier: MIT
// exec_bench POLICY...: nanoseconds a run of each policy's program takes, as
// machine code, interpreted, and as the same C compiled for this machine and
// called directly (test/bench/native.h), all on the same maps and contexts.
// They take turns in short rounds, so that a noisy machine disturbs all alike;
// medians are printed, as ratios to native.
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/exec/code.h"
#include "core/hook/policy.h"
#include "core/tbl/ctx.h"
#include "core/verify/verify.h"
#include "test/bench/bench.h"

enum { CONTEXTS = 64, EACH = 64 * CONTEXTS, ROUNDS = 101, COLUMNS = 3 };

/* The policies' functions and map variables, as native code. */
#define POLICY(name) int name(struct ncclbpf_tuner *ctx);
POLICY(noop)
POLICY(size_aware)
POLICY(nvlink_ring_mid)
POLICY(adaptive_channels)
POLICY(slo_enforcer)
POLICY(force_choice)
extern struct nb_map *channels, *decided, *targets, *model, *outcomes, *force;

static const struct {
	const char *name;
	int (*fn)(struct ncclbpf_tuner *ctx);
} natives[] = {
	{ "noop", noop },
	{ "size_aware", size_aware },
	{ "nvlink_ring_mid", nvlink_ring_mid },
	{ "adaptive_channels", adaptive_channels },
	{ "slo_enforcer", slo_enforcer },
	{ "force_choice", force_choice },
};

static const struct {
	const char *name;
	struct nb_map **variable;
} variables[] = { { "channels", &channels }, { "decided", &decided },
		  { "targets", &targets },   { "model", &model },
		  { "outcomes", &outcomes }, { "force", &force } };

struct row {
	const char *name;
	int (*native)(struct ncclbpf_tuner *ctx);
	bool maps; /* it has some */
	struct nb_exec *x;
	double took[COLUMNS][ROUNDS];
};

static struct ncclbpf_tuner contexts[CONTEXTS];

static void die(const char *what, const char *why)
{
	fprintf(stderr, "exec_bench: %s: %s\n", what, why);
	exit(1);
}

/* ---- what programs see ---- */

/* AllReduce of 1 KiB to 1 GiB on 8 ranks of one node. */
static void fill_contexts(void)
{
	uint64_t x = 1;

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

		if (!strcmp(name, "targets")) {
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
		} else if (!strcmp(name, "channels")) {
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
	if (!bytes ||
	    fread(bytes, 1, (size_t)st.st_size, f) != (size_t)st.st_size)
		die(path, "cannot be read");
	fclose(f);
	if (nb_image_read(&img, bytes, (size_t)st.st_size, &err))
		die(path, err.text);
	free(bytes);
	return img;
}

/* Maps for interpreter, machine code and native code together. */
static void make_maps(const struct nb_image *img, struct nb_map **maps)
{
	struct nb_err err;

	for (uint32_t i = 0; i < img->nmaps; i++) {
		if (nb_policy_map_new(&maps[i], img, i, &err))
			die(img->name, err.text);
		fill_map(maps[i]);
		for (size_t v = 0; v < sizeof(variables) / sizeof(variables[0]);
		     v++)
			if (!strcmp(img->maps[i].name, variables[v].name))
				*variables[v].variable = maps[i];
	}
}

static bool open_row(struct row *r, const char *path)
{
	struct nb_image *img = read_image(path);
	struct nb_map *maps[NB_IMAGE_MAX_MAPS];
	struct nb_verdict *v;
	struct nb_err err;

	for (size_t i = 0; i < sizeof(natives) / sizeof(natives[0]); i++)
		if (!strcmp(img->progs[0].name, natives[i].name)) {
			r->name = natives[i].name;
			r->native = natives[i].fn;
		}
	if (!r->native) { /* it calls helpers that have none */
		printf("%s: no native twin\n", img->name);
		nb_image_free(img);
		return false;
	}
	r->maps = img->nmaps > 0;
	make_maps(img, maps);
	if (nb_verify(&v, img, 0, NULL, &err))
		die(path, err.text);
	if (!v->accepted)
		die(path, "not accepted by the verifier");
	if (nb_exec_new(&r->x, img, 0, maps, NULL, &err) ||
	    nb_exec_compile(r->x, v->aux, &err))
		die(path, err.text);
	nb_verdict_free(v);
	for (uint32_t i = 0; i < img->nmaps; i++)
		nb_map_put(maps[i]);
	nb_image_free(img);
	return true;
}

/* ---- time ---- */

static double native_round(const struct row *r)
{
	int (*volatile fn)(struct ncclbpf_tuner *) = r->native;
	double start = bench_now();

	for (unsigned i = 0; i < EACH; i++)
		fn(&contexts[i % CONTEXTS]);
	return (bench_now() - start) / EACH;
}

static double jit_round(const struct row *r)
{
	double start = bench_now();

	for (unsigned i = 0; i < EACH; i++)
		nb_exec_run(r->x, &contexts[i % CONTEXTS], sizeof(contexts[0]));
	return (bench_now() - start) / EACH;
}

static double interpreter_round(const struct row *r)
{
	double start = bench_now();

	for (unsigned i = 0; i < EACH / 4; i++)
		nb_exec_interpret(r->x, &contexts[i % CONTEXTS],
				  sizeof(contexts[0]));
	return (bench_now() - start) / (EACH / 4);
}

static void print_row(struct row *r)
{
	double native = bench_median(r->took[0], ROUNDS),
	       jit = bench_median(r->took[1], ROUNDS);
	double interpreter = bench_median(r->took[2], ROUNDS);

	printf("%-20s %8.2f %8.2f %8.2f %9.2f %9.2f\n", r->name, native, jit,
	       interpreter, jit / native, interpreter / native);
}

/* What a call of machine code may take, and more than a native one's 1.6. */
#define CALL_NS 2.5
#define MORE_NS 0.9

static void table_rows(struct row *r)
{
	double native = bench_median(r->took[0], ROUNDS);
	double jit = bench_median(r->took[1], ROUNDS);
	double interpreter = bench_median(r->took[2], ROUNDS);
	char key[64], text[160];

	snprintf(key, sizeof(key), "jit.%s", r->name);
	snprintf(text, sizeof(text), "%s, machine code", r->name);
	if (!strcmp(r->name, "noop")) {
		bench_row(key, text, jit, "ns", CALL_NS);
	} else if (r->maps) {
		strcat(text, " / the same C natively");
		bench_row(key, text, jit / native, "x", 1.10);
	} else {
		strcat(text, " over the same C natively");
		bench_row(key, text, jit - native, "ns", MORE_NS);
	}
	if (!strcmp(r->name, "slo_enforcer"))
		bench_row("interp.slo_enforcer", "slo_enforcer, interpreter",
			  interpreter, "ns", 300);
}

int main(int argc, char **argv)
{
	struct row *rows = calloc((size_t)argc, sizeof(*rows));
	int nrows = 0;

	if (!rows || argc < 2)
		die("usage", "exec_bench POLICY...");
	fill_contexts();
	for (int i = 1; i < argc; i++)
		nrows += open_row(&rows[nrows], argv[i]);
	for (int round = -5; round < ROUNDS; round++) {
		bench_yardstick();
		for (int i = 0; i < nrows; i++) {
			double ns[COLUMNS] = { native_round(&rows[i]),
					       jit_round(&rows[i]),
					       interpreter_round(&rows[i]) };

			for (int c = 0; round >= 0 && c < COLUMNS; c++)
				rows[i].took[c][round] = ns[c];
		}
	}
	printf("%-20s %8s %8s %8s %9s %9s\n", "ns per run (median)", "native",
	       "compiled", "interp.", "comp/nat", "int/nat");
	for (int i = 0; i < nrows; i++) {
		print_row(&rows[i]);
		table_rows(&rows[i]);
		nb_exec_free(rows[i].x);
	}
	free(rows);
	return 0;
}
