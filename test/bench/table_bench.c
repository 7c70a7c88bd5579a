// SPDX-License-Identifier: MIT
// table_bench FOLDER: decision tables of 10, 200 and 10,000 rows, which
// table_bench.lua has compiled: what a run of the policy takes. Sizes come in a
// random order that is too long to be foreseen.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/ncclbpf.h"
#include "test/bench/bench.h"

enum { CONTEXTS = 1 << 10, ROUNDS = 41, MAX_IMAGE = 4 << 20 };

struct shape {
	const char *name, *what;
	uint32_t bytes; /* sizes of the rows are below */
	bool groups;	/* ten nodes by ten ranks; else one behind the other */
	double budget;
};

static const struct shape shapes[] = {
	{ "10", "10 rows", 40 << 20, false, 25 },
	{ "200", "200 rows", 200 << 10, false, 25 },
	{ "10k", "10,000 rows, all of one collective", 10000 << 10, false, 30 },
	{ "10k_shapes", "10,000 rows, for 10 by 10 nodes and ranks", 100 << 10, true, 30 },
	{ "10k_per_rank", "10,000 rows, by bytes per rank", 80000u << 10, false, 35 },
};
enum { SHAPES = sizeof(shapes) / sizeof(shapes[0]) };

struct made {
	struct nb_gen *gen;
	struct nb_gen_count count;
	struct ncclbpf_tuner *contexts;
	double ns[ROUNDS];
};

static uint64_t seed = 7;

static uint32_t below(uint32_t n)
{
	seed = seed * 6364136223846793005 + 1442695040888963407;
	return (uint32_t)((seed >> 33) % n);
}

static void die(const char *what)
{
	fprintf(stderr, "table_bench: %s\n", what);
	exit(1);
}

static void make_contexts(struct made *m, const struct shape *s)
{
	m->contexts = calloc(CONTEXTS, sizeof(*m->contexts));
	if (!m->contexts)
		die("no memory");
	for (uint32_t i = 0; i < CONTEXTS; i++)
		m->contexts[i] = (struct ncclbpf_tuner){
			.bytes = below(s->bytes),
			.coll = NCCL_COLL_ALL_REDUCE,
			.ranks = s->groups ? 8 * (1 + below(10)) : 8,
			.nodes = s->groups ? 1 + below(10) : 1,
			.pipe_ops = 1,
			.usable = 0x3f,
			.algo = NCCL_ALGO_UNDEF,
			.proto = NCCL_PROTO_UNDEF,
		};
}

static void load(struct made *m, const char *folder, const char *name)
{
	char path[4096];
	char *image = malloc(MAX_IMAGE);
	struct nb_policy *policy;
	struct nb_err err = { 0 };
	size_t size;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s.policy", folder, name);
	f = fopen(path, "re");
	if (!f || !image)
		die(path);
	size = fread(image, 1, MAX_IMAGE, f);
	fclose(f);
	if (nb_policy_new(&policy, image, size, NULL, &err) ||
	    nb_gen_new(&m->gen, &policy, 1, NULL, &err))
		die(err.text);
	nb_policy_put(policy);
	free(image);
}

static double round_of(struct made *m)
{
	double start = bench_now();

	for (uint32_t i = 0; i < CONTEXTS; i++)
		nb_gen_run_tuner(m->gen, &m->contexts[i], &m->count);
	return (bench_now() - start) / CONTEXTS;
}

static void row(const struct shape *s, struct made *m)
{
	char key[64], text[160];
	double ns = bench_median(m->ns, ROUNDS);

	printf("%-12s %8.2f ns\n", s->name, ns);
	snprintf(key, sizeof(key), "table.%s", s->name);
	snprintf(text, sizeof(text), "table of %s, a run", s->what);
	bench_row(key, text, ns, "ns", s->budget);
}

int main(int argc, char **argv)
{
	struct made *made = calloc(SHAPES, sizeof(*made));

	if (argc != 2 || !made)
		die("the folder of table_bench.lua expected");
	for (int i = 0; i < SHAPES; i++) {
		load(&made[i], argv[1], shapes[i].name);
		make_contexts(&made[i], &shapes[i]);
	}
	for (int r = -3; r < ROUNDS; r++) {
		bench_yardstick();
		for (int i = 0; i < SHAPES; i++) {
			double ns = round_of(&made[i]);

			if (r >= 0)
				made[i].ns[r] = ns;
		}
	}
	for (int i = 0; i < SHAPES; i++) {
		row(&shapes[i], &made[i]);
		nb_gen_put(made[i].gen);
		free(made[i].contexts);
	}
	printf("yardstick %.2f\n", bench_unit());
	free(made);
	return 0;
}
