// SPDX-License-Identifier: MIT
// A tuner plugin (v5) that writes NCCL's cost table of each question of rank 0 to the file that
// COSTS names, as a line of policies/costs, and takes ring/simple, so that nothing else is
// connected. FACTS: more fields of the context.
// In a process with several ranks, rank 0 is the first communicator.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

// Own declarations of NCCL's; the constants are not looked at.
typedef void (*log_fn)(int level, unsigned long flags, const char *file, int line, const char *fmt,
		       ...);

enum { OK = 0, FAILED = 1, COLLS = 5, RING = 1, PROTOS = 3, SIMPLE = 2 };

struct domains {
	int count, min_ranks, max_ranks;
};

struct costs {
	FILE *out; // NULL: not rank 0
	size_t nranks, nnodes;
	struct domains nvl;
};

struct tuner_v5 {
	const char *name;
	int (*init)(void **context, uint64_t comm, size_t nranks, size_t nnodes, log_fn log,
		    void *nvl, void *constants);
	int (*get)(void *context, int coll, size_t bytes, int nops, float **table, int nalgo,
		   int nproto, int registered, int *channels);
	int (*finalize)(void *context);
};

// NOLINTNEXTLINE(readability-function-size): the signature is NCCL's
static int costs_init(void **context, uint64_t comm, size_t nranks, size_t nnodes, log_fn log,
		      void *nvl, void *constants)
{
	static int ncomm;
	const char *rank = getenv("RANK"), *path = getenv("COSTS");
	int nth = __atomic_fetch_add(&ncomm, 1, __ATOMIC_RELAXED);
	struct costs *c = calloc(1, sizeof *c);

	(void)comm, (void)log, (void)constants;
	if (!c || !path || !nvl)
		return FAILED;
	*c = (struct costs){ NULL, nranks, nnodes, *(const struct domains *)nvl };
	if ((rank ? atoi(rank) : nth) == 0)
		c->out = fopen(path, "we");
	*context = c;
	return OK;
}

static void write_costs(const struct costs *c, int coll, size_t bytes, int nops, const float *costs,
			int n)
{
	static const char *const name[COLLS] = { "broadcast", "reduce", "allgather",
						 "reducescatter", "allreduce" };
	const char *facts = getenv("FACTS");

	fprintf(c->out,
		"{\"coll\":\"%s\",\"bytes\":%zu,\"context\":{\"ranks\":%zu,\"nodes\":%zu,"
		"\"pipe_ops\":%d,\"nvl_domains\":%d,\"nvl_min_ranks\":%d,\"nvl_max_ranks\":%d%s%s},"
		"\"costs_us\":[",
		name[coll], bytes, c->nranks, c->nnodes, nops, c->nvl.count, c->nvl.min_ranks,
		c->nvl.max_ranks, facts ? "," : "", facts ? facts : "");
	for (int i = 0; i < n; i++)
		fprintf(c->out, "%s%.9g", i ? "," : "", (double)costs[i]);
	fprintf(c->out, "]}\n");
}

// NOLINTNEXTLINE(readability-function-size): the signature is NCCL's
static int costs_get(void *context, int coll, size_t bytes, int nops, float **table, int nalgo,
		     int nproto, int registered, int *channels)
{
	const struct costs *c = context;
	float *costs = (void *)table; // flat, whatever its type says

	(void)registered;
	if (c->out && coll >= 0 && coll < COLLS)
		write_costs(c, coll, bytes, nops, costs, nalgo * nproto);
	if (nalgo > RING && nproto == PROTOS && costs[RING * PROTOS + SIMPLE] >= 0)
		costs[RING * PROTOS + SIMPLE] = 0;
	*channels = 1;
	return OK;
}

static int costs_finalize(void *context)
{
	struct costs *c = context;

	if (c->out)
		fclose(c->out);
	free(c);
	return OK;
}

extern const struct tuner_v5 ncclTunerPlugin_v5;
__attribute__((visibility("default")))
const struct tuner_v5 ncclTunerPlugin_v5 = { "costs", costs_init, costs_get, costs_finalize };
