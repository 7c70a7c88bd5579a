// SPDX-License-Identifier: MIT
/*
 * moe_alltoall PLUGIN.so [OPTIONS of moe_job.c] runs the all-to-all of experts
 * on CPUs. Each rank calls the plugin's RMA interface v15 as NCCL's proxy
 * thread does.
 */
#include "moe.h"

#include <dlfcn.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HOST = 1, ADD = 2 };

/* The part of NCCL's RMA interface, version 15, that this example uses. */
struct rma {
	const char *name;
	int (*init)(void **ctx, uint64_t comm_id, void *log);
	int (*devices)(int *n);
	void *get_properties;
	int (*listen)(void *ctx, int dev, void *handle, void **listen_comm);
	int (*connect)(void *ctx, void *handles[], int nranks, int rank, void *listen_comm,
		       void **coll);
	int (*create_context)(void *coll, int *config, void **ctx);
	int (*reg_mr)(void *coll, void *data, size_t size, int type, uint64_t flags,
		      void **mhandle);
	void *reg_mr_dmabuf;
	int (*dereg_mr)(void *coll, void *mhandle);
	int (*destroy_context)(void *ctx);
	int (*close_coll)(void *coll);
	int (*close_listen)(void *listen_comm);
	int (*iput)(void *ctx, int context, uint64_t src_off, void *src, size_t size,
		    uint64_t dst_off, void *dst, uint32_t rank, uint32_t flags, void **req);
	int (*iput_signal)(void *ctx, int context, uint64_t src_off, void *src, size_t size,
			   uint64_t dst_off, void *dst, uint32_t rank, uint64_t sig_off, void *sig,
			   uint64_t value, uint32_t op, bool strong, uint32_t flags, void **req);
	void *iget, *iflush;
	int (*test)(void *coll, void *req, int *done);
	int (*progress)(void *ctx);
	void *query_last_error;
	int (*finalize)(void *ctx);
};

static const struct rma *rma;

struct request {
	void *req;
	uint64_t *counter; /* counter to increment when the operation is done;
			      NULL: none */
};

struct carrier {
	void *instance, *listener, *coll, *ctx, *window, *signals;
	uint64_t signal[MOE_SIGNALS], counter[MOE_COUNTERS];
	struct request *request;
	size_t nrequests, most;
};

static void register_all(struct moe_rank *k, size_t bytes)
{
	struct carrier *c = k->carrier;

	k->data = calloc(1, bytes);
	/* operations of a dispatch and a combine; each signal returns a credit
	 */
	c->most = 8 * (size_t)moe_options.ntokens * moe_options.topk + 1024;
	c->request = calloc(c->most, sizeof(*c->request));
	moe_need(k->data && c->request, "memory");
	moe_need(!rma->reg_mr(c->coll, c->signal, sizeof(c->signal), HOST, 1, &c->signals) &&
			 !rma->reg_mr(c->coll, k->data, bytes, HOST, 0, &c->window),
		 "registration");
}

static void rma_open(struct moe_rank *k, size_t bytes)
{
	struct carrier *c = calloc(1, sizeof(*c));
	int config[3] = { 1, -1, 0 }, n = 0;
	void *handles[MOE_RANKS];

	moe_need(c != NULL, "memory");
	k->carrier = c;
	moe_need(!rma->init(&c->instance, 17, NULL) && !rma->devices(&n) && n > 0,
		 "no GIN device: is NCCLBPF_GIN on?");
	moe_need(!rma->listen(c->instance, 0, moe_blob(k->r), &c->listener), "listen");
	moe_meet();
	for (uint32_t i = 0; i < MOE_RANKS; i++)
		handles[i] = moe_blob(i);
	moe_need(!rma->connect(c->instance, handles, MOE_RANKS, (int)k->r, c->listener, &c->coll) &&
			 !rma->create_context(c->coll, config, &c->ctx),
		 "connect");
	register_all(k, bytes);
}

static void rma_close(struct moe_rank *k)
{
	struct carrier *c = k->carrier;

	rma->dereg_mr(c->coll, c->window);
	rma->dereg_mr(c->coll, c->signals);
	rma->destroy_context(c->ctx);
	rma->close_coll(c->coll);
	rma->close_listen(c->listener);
	rma->finalize(c->instance);
	free(c->request);
	free(c);
	free(k->data);
}

static void rma_put(struct moe_rank *k, const struct moe_put *p)
{
	struct carrier *c = k->carrier;
	void *window = p->size ? c->window : NULL, *req = NULL;
	int rc = p->add ? rma->iput_signal(c->ctx, 0, p->from, window, p->size, p->at, window,
					   p->to, 8 * (uint64_t)p->signal, c->signals, p->add, ADD,
					   true, 0, &req)
			: rma->iput(c->ctx, 0, p->from, window, p->size, p->at, window, p->to, 0,
				    &req);

	moe_need(!rc, "a put fails");
	moe_need(c->nrequests < c->most, "too many requests");
	c->request[c->nrequests++] =
		(struct request){ req, p->count ? &c->counter[p->counter] : NULL };
}

/* Test the open requests, and keep those that are not done. */
static void test_all(struct carrier *c)
{
	size_t kept = 0;

	for (size_t i = 0; i < c->nrequests; i++) {
		struct request r = c->request[i];
		int done = 0;

		moe_need(!rma->test(c->coll, r.req, &done), "test");
		if (!done)
			c->request[kept++] = r;
		else if (r.counter)
			++*r.counter;
	}
	c->nrequests = kept;
}

static uint64_t rma_signal(struct moe_rank *k, uint32_t i)
{
	const struct carrier *c = k->carrier;

	return __atomic_load_n(&c->signal[i], __ATOMIC_ACQUIRE);
}

static uint64_t rma_counter(struct moe_rank *k, uint32_t i)
{
	struct carrier *c = k->carrier;

	test_all(c);
	return c->counter[i];
}

static void rma_progress(struct moe_rank *k)
{
	const struct carrier *c = k->carrier;

	moe_need(!rma->progress(c->ctx), "progress");
	sched_yield();
}

static void rma_flush(struct moe_rank *k)
{
	struct carrier *c = k->carrier;

	for (test_all(c); c->nrequests; test_all(c))
		rma_progress(k);
}

static const struct moe_carrier_ops carrier = { .words = "ncclRmaPlugin_v15",
						.open = rma_open,
						.close = rma_close,
						.put = rma_put,
						.signal = rma_signal,
						.counter = rma_counter,
						.progress = rma_progress,
						.flush = rma_flush };

int main(int argc, char **argv)
{
	void *lib;

	if (argc < 2) {
		fprintf(stderr, "usage: moe_alltoall PLUGIN.so [OPTIONS]\n");
		return 64;
	}
	lib = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
	moe_need(lib != NULL, argv[1]);
	rma = dlsym(lib, "ncclRmaPlugin_v15");
	moe_need(rma != NULL, "no RMA v15");
	return moe_main(argc, argv, 2, &carrier);
}
