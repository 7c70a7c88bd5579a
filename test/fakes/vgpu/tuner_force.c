// SPDX-License-Identifier: MIT
// A tuner plugin (v5, and v3 for NCCL 2.22) for the tests of the virtual GPU: it
// asks for one algorithm, protocol and number of channels, on all ranks or on one.
//
// FORCE="algorithm,protocol,channels" in NCCL's numbers, channels 0: NCCL's;
// FORCE_RANK=r: only where RANK is r, or, in a process with several ranks, in
// the r-th communicator that it initialises. Only usable entries are forced.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

// Own declarations of NCCL's; NVL domain and constants are not looked at.
typedef void (*log_fn)(int level, unsigned long flags, const char *file, int line, const char *fmt,
		       ...);

enum { NPROTO = 3, OK = 0 };

struct force {
	int algo, proto, channels; // algo -1: nothing is forced
};

struct tuner_v5 {
	const char *name;
	int (*init)(void **context, uint64_t comm, size_t nranks, size_t nnodes, log_fn log,
		    void *nvl, void *constants);
	int (*get)(void *context, int coll, size_t bytes, int nops, float **table, int nalgo,
		   int nproto, int registered, int *channels);
	int (*finalize)(void *context);
};

struct tuner_v3 {
	const char *name;
	int (*init)(size_t nranks, size_t nnodes, log_fn log, void **context);
	int (*get)(void *context, int coll, size_t bytes, int nops, float **table, int nalgo,
		   int nproto, int *channels);
	int (*destroy)(void *context);
};

static int mine(void)
{
	static int ncomm;
	const char *only = getenv("FORCE_RANK"), *rank = getenv("RANK");
	int nth = __atomic_fetch_add(&ncomm, 1, __ATOMIC_RELAXED);

	return !only || atoi(only) == (rank ? atoi(rank) : nth);
}

// NOLINTNEXTLINE(readability-function-size): the signature is NCCL's
static int init(void **context, uint64_t comm, size_t nranks, size_t nnodes, log_fn log, void *nvl,
		void *constants)
{
	struct force *f = calloc(1, sizeof *f);
	const char *s = getenv("FORCE");

	(void)comm, (void)nranks, (void)nnodes, (void)log, (void)nvl;
	(void)constants;
	if (!f)
		return 1;
	if (!mine() || !s || sscanf(s, "%d,%d,%d", &f->algo, &f->proto, &f->channels) != 3)
		f->algo = -1;
	*context = f;
	return OK;
}

// NOLINTNEXTLINE(readability-function-size): the signature is NCCL's
static int get(void *context, int coll, size_t bytes, int nops, float **table, int nalgo,
	       int nproto, int registered, int *channels)
{
	const struct force *f = context;
	float(*costs)[NPROTO] = (void *)table; // flat, whatever its type says

	(void)coll, (void)bytes, (void)nops, (void)registered;
	if (f->algo < 0 || f->algo >= nalgo || f->proto < 0 || f->proto >= nproto ||
	    costs[f->algo][f->proto] < 0)
		return OK;
	costs[f->algo][f->proto] = 0;
	if (f->channels > 0)
		*channels = f->channels;
	return OK;
}

static int finalize(void *context)
{
	free(context);
	return OK;
}

static int init_v3(size_t nranks, size_t nnodes, log_fn log, void **context)
{
	return init(context, 0, nranks, nnodes, log, NULL, NULL);
}

// NOLINTNEXTLINE(readability-function-size): the signature is NCCL's
static int get_v3(void *context, int coll, size_t bytes, int nops, float **table, int nalgo,
		  int nproto, int *channels)
{
	return get(context, coll, bytes, nops, table, nalgo, nproto, 0, channels);
}

extern const struct tuner_v3 ncclTunerPlugin_v3;
__attribute__((visibility("default")))
const struct tuner_v3 ncclTunerPlugin_v3 = { "force", init_v3, get_v3, finalize };

extern const struct tuner_v5 ncclTunerPlugin_v5;
__attribute__((visibility("default")))
const struct tuner_v5 ncclTunerPlugin_v5 = { "force", init, get, finalize };
