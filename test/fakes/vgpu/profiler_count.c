// SPDX-License-Identifier: MIT
// A profiler plugin (v5) for the tests of the virtual GPU: it counts KernelCh
// events and says at finalize how long the GPU's own clock says they took:
//
//	KernelCh rank 0: 48 started, 48 stopped, 391500..391500 ns
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

// Own declarations of ncclProfiler_v5, as far as it is read here.
typedef void (*log_fn)(int level, unsigned long flags, const char *file, int line, const char *fmt,
		       ...);

enum { KERNEL_CH = 1 << 6, KERNEL_CH_STOP = 22, OK = 0 };

struct descr {
	uint64_t type;
	void *parent;
	int rank;
	struct {
		uint8_t channel;
		uint64_t clock;
	} kernel;
};

struct comm {
	int rank;
	unsigned started, stopped;
	uint64_t shortest, longest;
};

struct event {
	struct comm *comm;
	uint64_t start;
};

struct profiler_v5 {
	const char *name;
	int (*init)(void **context, uint64_t comm, int *mask, const char *name, int nnodes,
		    int nranks, int rank, log_fn log);
	int (*start)(void *context, void **handle, struct descr *d);
	int (*stop)(void *handle);
	int (*state)(void *handle, int state, void *args);
	int (*finalize)(void *context);
};

// NOLINTNEXTLINE(readability-function-size): the signature is NCCL's
static int init(void **context, uint64_t comm, int *mask, const char *name, int nnodes, int nranks,
		int rank, log_fn log)
{
	struct comm *c = calloc(1, sizeof *c);

	(void)comm, (void)name, (void)nnodes, (void)nranks, (void)log;
	if (!c)
		return 1;
	c->rank = rank;
	c->shortest = UINT64_MAX;
	*context = c;
	*mask = KERNEL_CH;
	return OK;
}

static int start(void *context, void **handle, struct descr *d)
{
	struct event *e;

	*handle = NULL;
	if (d->type != KERNEL_CH)
		return OK;
	e = calloc(1, sizeof *e); // never freed: NCCL may still hold it
	if (!e)
		return OK;
	e->comm = context;
	e->start = d->kernel.clock;
	__atomic_add_fetch(&e->comm->started, 1, __ATOMIC_RELAXED);
	*handle = e;
	return OK;
}

static int stop(void *handle)
{
	(void)handle;
	return OK;
}

// One proxy thread per communicator reports, so the extremes need no lock.
static int state(void *handle, int what, void *args)
{
	struct event *e = handle;

	if (!e || what != KERNEL_CH_STOP || !args)
		return OK;
	uint64_t ns = *(uint64_t *)args - e->start;
	if (ns < e->comm->shortest)
		e->comm->shortest = ns;
	if (ns > e->comm->longest)
		e->comm->longest = ns;
	__atomic_add_fetch(&e->comm->stopped, 1, __ATOMIC_RELAXED);
	return OK;
}

static int finalize(void *context)
{
	const struct comm *c = context; // kept: events point at it

	fprintf(stderr, "KernelCh rank %d: %u started, %u stopped, %llu..%llu ns\n", c->rank,
		c->started, c->stopped, (unsigned long long)c->shortest,
		(unsigned long long)c->longest);
	return OK;
}

extern const struct profiler_v5 ncclProfiler_v5;
__attribute__((visibility("default")))
const struct profiler_v5 ncclProfiler_v5 = { "count", init, start, stop, state, finalize };
