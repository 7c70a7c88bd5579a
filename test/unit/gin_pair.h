// SPDX-License-Identifier: MIT
// Two ranks that one thread drives through the table of RMA v15.
#ifndef TEST_UNIT_GIN_PAIR_H
#define TEST_UNIT_GIN_PAIR_H

#include "test/unit/unit.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "plugin/abi/gin_abi.h"

enum { PAIR_BYTES = 1 << 16, PAIR_CONTEXTS = 2 };

struct pair_rank {
	void *instance, *listener, *coll, *ctx, *window, *signals;
	int rank, rc;
	char data[PAIR_BYTES];
	uint64_t signal[8];
};

static struct pair_rank pair[2];
static char pair_handle[2][NB_NET_HANDLE];
static const struct nb_gin_table *const rma = &ncclRmaPlugin_v15;

static void *pair_connect(void *arg)
{
	struct pair_rank *r = arg;
	void *handles[2] = { pair_handle[0], pair_handle[1] };

	r->rc = rma->connect.v11(r->instance, handles, 2, r->rank, r->listener, &r->coll);
	return NULL;
}

static void pair_open(void)
{
	struct nb_rma_config k = { PAIR_CONTEXTS, -1, 0 };
	pthread_t thread;
	int n = 0;

	for (int i = 0; i < 2; i++) {
		struct pair_rank *r = &pair[i];

		memset(r, 0, sizeof(*r));
		r->rank = i;
		ck_assert_int_eq(rma->init(&r->instance, 77, NULL), 0);
		ck_assert_int_eq(rma->devices(&n), 0);
		ck_assert_int_gt(n, 0);
		ck_assert_int_eq(rma->listen(r->instance, 0, pair_handle[i], &r->listener), 0);
	}
	ck_assert_int_eq(pthread_create(&thread, NULL, pair_connect, &pair[1]), 0);
	pair_connect(&pair[0]);
	pthread_join(thread, NULL);
	for (int i = 0; i < 2; i++) {
		struct pair_rank *r = &pair[i];

		ck_assert_int_eq(r->rc, 0);
		ck_assert_int_eq(rma->create_context.rma_v14(r->coll, &k, &r->ctx), 0);
		ck_assert_int_eq(rma->reg_mr.rma_v14(r->coll, r->signal, sizeof(r->signal), 2, 1,
						     &r->signals),
				 0);
		ck_assert_int_eq(
			rma->reg_mr.rma_v14(r->coll, r->data, PAIR_BYTES, 2, 0, &r->window), 0);
	}
}

static void pair_close(void)
{
	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(rma->destroy_context(pair[i].ctx), 0);
		ck_assert_int_eq(rma->close_coll(pair[i].coll), 0);
		ck_assert_int_eq(rma->close_listen(pair[i].listener), 0);
		ck_assert_int_eq(rma->finalize(pair[i].instance), 0);
	}
}

static void pair_tick(void)
{
	for (int i = 0; i < 2; i++)
		ck_assert_int_eq(rma->progress(pair[i].ctx), 0);
}

/* A put with or without a signal, by rank 0; @op 0: none. */
static void *pair_put(int context, uint32_t to, size_t size, size_t from, size_t at,
		      unsigned signal, uint32_t op, uint64_t value)
{
	struct pair_rank *r = &pair[0];
	void *req = NULL;
	int rc;

	rc = op ? rma->iput_signal.rma_v15(r->ctx, context, from, size ? r->window : NULL, size, at,
					   size ? r->window : NULL, to, signal * 8, r->signals,
					   value, op, true, 0, &req)
		: rma->iput.rma_v15(r->ctx, context, from, r->window, size, at, r->window, to, 0,
				    &req);
	ck_assert_int_eq(rc, 0);
	ck_assert_ptr_nonnull(req);
	return req;
}

static void pair_finish(void *req)
{
	int done = 0;

	while (!done) {
		pair_tick();
		ck_assert_int_eq(rma->test(pair[0].coll, req, &done), 0);
	}
}

#endif
