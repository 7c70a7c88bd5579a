// SPDX-License-Identifier: MIT
// table_bench: decision tables of 10, 200 and 10,000 rows: what a run of the
// compiled policy takes, and the time from the text to a generation that
// decides. Sizes come in a random order that is too long to be foreseen.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/ncclbpf.h"
#include "core/csvpolicy/table.h"
#include "test/bench/bench.h"

enum { CONTEXTS = 1 << 10, ROUNDS = 41, LIVE_ROUNDS = 15 };

struct shape {
	const char *name, *what;
	uint32_t rows;
	bool groups; /* ten nodes by ten ranks; else one behind the other */
	double budget;
};

static const struct shape shapes[] = {
	{ "10", "10 rows", 10, false, 25 },
	{ "200", "200 rows", 200, false, 25 },
	{ "10k", "10,000 rows, all of one collective", 10000, false, 30 },
	{ "10k_shapes", "10,000 rows, for 10 by 10 nodes and ranks", 10000,
	  true, 30 },
};
enum { SHAPES = sizeof(shapes) / sizeof(shapes[0]) };

struct made {
	struct nb_buf text;
	struct nb_gen *gen;
	struct nb_gen_count count;
	struct ncclbpf_tuner *contexts;
	double ns[ROUNDS], live[LIVE_ROUNDS];
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

static const char *const algos[] = { "tree", "ring" };
static const char *const protos[] = { "ll", "ll128", "simple" };

/* Sizes of each group, in rows of 1 KiB more each: all unlike their
 * neighbours. */
static void make_text(struct made *m, const struct shape *s)
{
	uint32_t each = s->groups ? s->rows / 100 : s->rows;

	nb_buf_init(&m->text, 0);
	for (uint32_t i = 0; i < s->rows; i++) {
		uint32_t k = i % each, g = i / each;
		uint64_t from = k * (uint64_t)(s->rows == 10 ? 4 << 20 : 1024);

		nb_buf_printf(&m->text, "allreduce,%llu,%llu,%s,%s,%d,%d,%d\n",
			      (unsigned long long)from,
			      (unsigned long long)from +
				      (s->rows == 10 ? 4 << 20 : 1024) - 1,
			      algos[k % 2], protos[k % 3], 1 + (int)(k % 32),
			      s->groups ? 1 + (int)(g / 10) : 1,
			      s->groups ? 8 * (1 + (int)(g % 10)) : -1);
	}
}

static void make_contexts(struct made *m, const struct shape *s)
{
	m->contexts = calloc(CONTEXTS, sizeof(*m->contexts));
	if (!m->contexts)
		die("no memory");
	for (uint32_t i = 0; i < CONTEXTS; i++)
		m->contexts[i] = (struct ncclbpf_tuner){
			.bytes = below(s->rows == 10 ? 40 << 20
				       : s->groups   ? 100 << 10
						     : s->rows << 10),
			.coll = NCCL_COLL_ALL_REDUCE,
			.ranks = s->groups ? 8 * (1 + below(10)) : 8,
			.nodes = s->groups ? 1 + below(10) : 1,
			.pipe_ops = 1,
			.usable = 0x3f,
			.algo = NCCL_ALGO_UNDEF,
			.proto = NCCL_PROTO_UNDEF,
		};
}

/* Text to a generation that decides, as loading a table does. */
static double live(struct made *m)
{
	struct nb_table_opts opts = { .name = "t", .file = "t.csv" };
	struct nb_table t = { 0 };
	struct nb_table_where where;
	struct nb_policy *policy;
	struct nb_err err = { 0 };
	struct nb_buf image;
	double start = bench_now();

	nb_gen_put(m->gen);
	nb_buf_init(&image, 0);
	if (nb_table_parse(&t, m->text.data, m->text.size, &where, &err) ||
	    nb_table_image(&image, &t, &opts, &where, &err) ||
	    nb_policy_new(&policy, image.data, image.size, NULL, &err) ||
	    nb_gen_new(&m->gen, &policy, 1, NULL, &err))
		die(err.text);
	start = bench_now() - start;
	nb_policy_put(policy);
	nb_table_fini(&t);
	nb_buf_fini(&image);
	return start / 1e6;
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
	double ms = bench_median(m->live, LIVE_ROUNDS);

	printf("%-12s %8.2f ns %8.2f ms\n", s->name, ns, ms);
	snprintf(key, sizeof(key), "table.%s", s->name);
	snprintf(text, sizeof(text), "table of %s, a run", s->what);
	bench_row(key, text, ns, "ns", s->budget);
	if (s->rows < 10000 || s->groups)
		return;
	bench_row("table.live", "table of 10,000 rows, from its text to live",
		  ms, "ms", 50);
}

int main(void)
{
	struct made *made = calloc(SHAPES, sizeof(*made));

	if (!made)
		die("no memory");
	for (int i = 0; i < SHAPES; i++) {
		make_text(&made[i], &shapes[i]);
		make_contexts(&made[i], &shapes[i]);
		for (int k = 0; k < LIVE_ROUNDS; k++) {
			bench_yardstick();
			made[i].live[k] = live(&made[i]);
		}
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
		nb_buf_fini(&made[i].text);
		free(made[i].contexts);
	}
	printf("yardstick %.2f\n", bench_unit());
	free(made);
	return 0;
}
