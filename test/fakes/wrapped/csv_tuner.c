// SPDX-License-Identifier: MIT
// A native tuner that reads a table's rows one after the other, as NVIDIA's
// example does: the rows of the file CSV_TUNER_FILE, in NVIDIA's columns; the
// first one that matches and that NCCL offers wins. For each row that it looks
// at, it calls NCCL's logger twice. It is written anew from the rule, as the
// reference of decision tables: `policy compare` must find no difference, and
// the benchmark measures it beside ours.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/fakes/host/nccl.h"

#define EXPORT __attribute__((visibility("default")))

enum { TRACE = 5, INFO = 3, TUNING = 0x40000, MAX_ROWS = 20000, COLUMNS = 10, INTERNAL = 3 };

struct row {
	int coll, algo, proto, channels, nodes, ranks, ops, reg;
	size_t min, max;
};

struct tuner {
	struct row *rows;
	int n, ranks, nodes;
	host_logger *log;
};

static const char *const colls[] = { "broadcast",     "reduce",	   "allgather",
				     "reducescatter", "allreduce", NULL };
static const char *const algos[] = { "tree",	      "ring", "collnet_direct",
				     "collnet_chain", "nvls", "nvls_tree",
				     "pat",	      NULL };
static const char *const protos[] = { "ll", "ll128", "simple", NULL };

static int number_of(const char *const *words, const char *word)
{
	for (int i = 0; words[i]; i++)
		if (!strcmp(words[i], word))
			return i;
	return -1;
}

static int number_or(const char *text, int other)
{
	return text ? atoi(text) : other;
}

static void add_row(struct tuner *t, char *line)
{
	char *cell[COLUMNS] = { NULL }, *at = NULL;
	int n = 0;

	for (char *c = strtok_r(line, ",\r\n", &at); c && n < COLUMNS;
	     c = strtok_r(NULL, ",\r\n", &at))
		cell[n++] = c;
	if (n < 8 || *line == '#' || t->n == MAX_ROWS)
		return;
	t->rows[t->n++] = (struct row){
		.coll = number_of(colls, cell[0]),
		.min = strtoull(cell[1], NULL, 10),
		.max = strtoull(cell[2], NULL, 10),
		.algo = number_of(algos, cell[3]),
		.proto = number_of(protos, cell[4]),
		.channels = atoi(cell[5]),
		.nodes = atoi(cell[6]),
		.ranks = atoi(cell[7]),
		.ops = number_or(cell[8], -1),
		.reg = number_or(cell[9], -1),
	};
}

static int init(void **ctx, uint64_t id, size_t ranks, size_t nodes, host_logger *log,
		struct host_nvl_domain_info *nvl, double *constants)
{
	const char *path = getenv("CSV_TUNER_FILE");
	FILE *f = path ? fopen(path, "re") : NULL;
	struct tuner *t = calloc(1, sizeof(*t));
	char line[512];

	(void)id, (void)nvl, (void)constants;
	if (t)
		t->rows = calloc(MAX_ROWS, sizeof(*t->rows));
	*ctx = t;
	if (!f || !t || !t->rows)
		return INTERNAL;
	t->log = log;
	t->ranks = (int)ranks;
	t->nodes = (int)nodes;
	while (fgets(line, sizeof(line), f))
		add_row(t, line);
	fclose(f);
	return 0;
}

static int matches(const struct tuner *t, const struct row *r, int coll, size_t bytes, int ops,
		   int reg)
{
	return r->coll == coll && bytes >= r->min && bytes <= r->max &&
	       (r->nodes == -1 || r->nodes == t->nodes) &&
	       (r->ranks == -1 || r->ranks == t->ranks) && (r->ops == -1 || r->ops == ops) &&
	       (r->reg == -1 || r->reg == reg);
}

static int get(void *ctx, int coll, size_t bytes, int ops, float **rows, int nalgos, int nprotos,
	       int reg, int *channels)
{
	float *table = (float *)(void *)rows;
	const struct tuner *t = ctx;

	for (int i = 0; i < t->n; i++) {
		const struct row *r = &t->rows[i];
		float *entry = &table[r->algo * nprotos + r->proto];

		t->log(TRACE, TUNING, __FILE__, __LINE__, "row %d: %zu to %zu bytes", i, r->min,
		       r->max);
		if (!matches(t, r, coll, bytes, ops, reg) || r->algo >= nalgos || *entry < 0) {
			t->log(INFO, TUNING, __FILE__, __LINE__, "row %d does not match", i);
			continue;
		}
		*entry = 0.0f;
		if (r->channels != -1)
			*channels = r->channels;
		return 0;
	}
	return 0;
}

static int finalize(void *ctx)
{
	struct tuner *t = ctx;

	if (t)
		free(t->rows);
	free(t);
	return 0;
}

#ifdef V7
EXPORT const struct host_tuner_v6 ncclTunerPlugin_v7 = { { "csv", init, get, finalize }, NULL };
#else
EXPORT const struct host_tuner_v5 ncclTunerPlugin_v5 = { "csv", init, get, finalize };
#endif
