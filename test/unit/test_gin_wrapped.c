// SPDX-License-Identifier: MIT
// tier: quick  load: cpu  limit: 600
// A vendor's GIN or RMA plugin behind ours, of each version: calls,
// results and order reach it, puts may be held back, device handles of other
// types reach NCCL untouched.
#include "test/unit/gin_pair.h"

#include <dlfcn.h>
#include <stdlib.h>

#include "plugin/gin/list.h"
#include "plugin/wrap/wrapped.h"
#include "test/fakes/wrapped/gin.h"

static struct gin_plugin_seen *seen;

static const char *build_dir(void)
{
	const char *b = getenv("B");

	return b ? b : "build/debug";
}

static void set_up(int abi)
{
	char path[256];
	void *lib;

	snprintf(path, sizeof(path), "%s/test/fakes/wrapped/gin_v%d.so", build_dir(), abi);
	setenv("NCCLBPF_CHAIN_GIN", path, 1);
	setenv("NCCLBPF_CONTROL", "off", 1);
	setenv("NCCLBPF_JOB", "test_gin_wrapped", 1);
	unsetenv("NCCLBPF_GIN");
	lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	ck_assert_msg(lib != NULL, "%s", dlerror());
	seen = dlsym(lib, "gin_plugin_seen");
	ck_assert_ptr_nonnull(seen);
}

TEST_EACH(each_version_is_called_as_nccl_would, 0, 7)
{
	const int abi = 11 + _i;
	struct nb_net_props_v12 p;
	void *req, *get = NULL, *flush = seen;
	bool failed = true;

	set_up(abi);
	pair_open();
	ck_assert_int_eq(rma->get_properties(2, &p), 0);
	ck_assert_int_eq(p.speed, 400002);
	ck_assert_int_eq(p.device_type, 2);
	ck_assert_uint_eq(seen->connects, 2);
	ck_assert_uint_eq(seen->listens, 2);
	ck_assert_uint_eq(seen->contexts, abi == 11 ? 2 : 4);
	ck_assert_uint_eq(seen->regs, 4);
	ck_assert_uint_eq(nb_wrapped[NB_WRAPPED_GIN].version, (unsigned)abi);
	strcpy(pair[0].data, "wrapped");
	req = pair_put(1, 1, 8, 0, 100, 2, 2, 7);
	ck_assert_str_eq(pair[1].data + 100, "wrapped");
	ck_assert_uint_eq(pair[1].signal[2], 7);
	ck_assert_uint_eq(seen->put[0].size, 8);
	ck_assert_uint_eq(seen->put[0].op, 2);
	ck_assert_int_eq(seen->put[0].context, abi == 11 ? 0 : 1);
	ck_assert_uint_eq(seen->put[0].rank, 1);
	pair_finish(req);
	ck_assert_uint_eq(seen->tests, 2); /* done at the second */
	ck_assert_uint_gt(seen->progresses, 0);
	if (abi >= 13) {
		ck_assert_int_eq(rma->iget.rma_v15(pair[0].ctx, 0, 100, pair[0].window, 8, 200,
						   pair[0].window, 1, 0, &get),
				 0);
		pair_finish(get);
		ck_assert_str_eq(pair[0].data + 200, "wrapped");
		ck_assert_int_eq(rma->iflush(pair[0].ctx, 0, pair[0].window, 1, &flush), 0);
		ck_assert_ptr_null(flush);
		ck_assert_uint_eq(seen->flushes, 1);
	}
	ck_assert_int_eq(rma->query_last_error(pair[0].ctx, &failed), 0);
	ck_assert(!failed);
	pair_close();
	ck_assert_uint_eq(seen->colls, 2);
	ck_assert_uint_eq(seen->finalizes, 2);
}

TEST(strong_and_more_reach_rma)
{
	void *req = NULL;
	int done = 0;

	set_up(15);
	pair_open();
	ck_assert_int_eq(rma->iput_signal.rma_v15(pair[0].ctx, 0, 0, NULL, 0, 0, NULL, 1, 0,
						  pair[0].signals, 1, 1, false, 1, &req),
			 0);
	ck_assert(!seen->put[0].strong);
	ck_assert_uint_eq(seen->put[0].flags, 1);
	while (!done)
		ck_assert_int_eq(rma->test(pair[0].coll, req, &done), 0);
	pair_close();
}

TEST(its_errors_are_nccls)
{
	struct nb_gin_sums s;
	void *req = seen;

	set_up(15);
	pair_open();
	seen->fail_put = NB_NET_REMOTE;
	ck_assert_int_eq(rma->iput.rma_v15(pair[0].ctx, 0, 0, pair[0].window, 8, 0, pair[0].window,
					   1, 0, &req),
			 NB_NET_REMOTE);
	ck_assert_ptr_null(req);
	nb_gin_list_sums(&s);
	ck_assert_uint_eq(s.errors, 1);
	ck_assert_uint_eq(nb_wrapped[NB_WRAPPED_GIN].errors, 1);
	pair_finish(pair_put(0, 1, 8, 0, 0, 0, 0, 0)); /* and the twin */
	pair_close();
}

TEST(held_puts_are_posted_in_order)
{
	void *req[8];
	char policy[256];

	snprintf(policy, sizeof(policy), "%s/test/corpus/gin/hold.policy", build_dir());
	setenv("NCCLBPF_POLICY", policy, 1);
	set_up(15);
	pair_open();
	/* the program holds puts of 1 byte; those behind them wait too */
	for (size_t i = 0; i < 8; i++)
		req[i] = pair_put(0, 1, i == 2 ? 1 : 10 + i, 0, 0, 0, 0, 0);
	ck_assert_uint_eq(seen->nput, 2);
	pair_finish(pair_put(1, 1, 99, 0, 0, 0, 0, 0));
	ck_assert_uint_eq(seen->put[2].size, 99); /* another context's */
	for (int i = 0; i < 8; i++)
		pair_finish(req[i]);
	ck_assert_uint_eq(seen->put[3].size, 1);
	for (unsigned i = 3; i < 8; i++)
		ck_assert_uint_eq(seen->put[i + 1].size, 10 + i);
	pair_close();
}

/* NCCL has deregistered the memory of a held put when it closes its context. */
TEST_EACH(held_puts_of_a_closed_context_are_not_posted, 0, 2)
{
	char policy[256];
	unsigned before;

	snprintf(policy, sizeof(policy), "%s/test/corpus/gin/hold.policy", build_dir());
	setenv("NCCLBPF_POLICY", policy, 1);
	set_up(_i ? 15 : 11);
	pair_open();
	pair_finish(pair_put(0, 1, 10, 0, 0, 0, 0, 0));
	before = seen->nput;
	ck_assert_uint_ge(before, 1);
	pair_put(0, 1, 1, 0, 0, 0, 0, 0);
	ck_assert_uint_eq(seen->nput, before);
	pair_close();
	ck_assert_uint_eq(seen->nput, before);
}

/* GDAKI and others: NCCL's device handle is theirs, and iput is never called.
 */
TEST(another_device_type_is_passed_through)
{
	const struct nb_gin_table *t = &ncclGinPlugin_v13;
	struct nb_gin_config_v13 k = { 1, 1, 1, 0, -1 };
	struct nb_net_props_v12 p;
	void *ctx = NULL, *devh = NULL, *mh = NULL, *gh = NULL;

	set_up(13);
	seen->device_type = 3;
	pair_open();
	ck_assert_int_eq(t->get_properties(0, &p), 0);
	ck_assert_int_eq(p.device_type, 3);
	ck_assert_int_eq(t->create_context.v13(pair[0].coll, &k, &ctx, &devh), 0);
	ck_assert_ptr_eq(devh, seen);
	ck_assert_int_eq(t->reg_mr.v11(pair[0].coll, pair[0].data, 8, 2, 0, &mh, &gh), 0);
	ck_assert_uint_eq((uintptr_t)gh, (uintptr_t)mh + 100);
	ck_assert_int_eq(t->dereg_mr(pair[0].coll, mh), 0);
	ck_assert_uint_eq(seen->deregs, 1);
	ck_assert_int_eq(t->destroy_context(ctx), 0);
	pair_close();
}

/* ---- GIN v14, beside the table that moves data ---- */

static const struct nb_gin_table_v14 *const v14 = &ncclGinPlugin_v14;

/* NCCL 2.31 in one communicator: puts by RMA v15, GDAKI by GIN v14. */
TEST(both_tables_of_a_vendor_are_called_at_once)
{
	struct nb_gin_config_v14 k = { 1, 1, 2, 0, -1, 7, 3 };
	void *ctx = NULL, *l = NULL, *coll = NULL, *x = NULL, *devh = NULL;
	void *mh = NULL, *gh = NULL, *handles[1];
	struct nb_gin_signals_v14 signals = { true, false };
	static char handle[NB_NET_HANDLE];
	struct nb_net_props_v12 p;
	bool failed = false;
	int n = 0;

	set_up(15);
	pair_open();
	ck_assert_int_eq(v14->init(&ctx, 5, NULL), 0);
	ck_assert_int_eq(v14->devices(&n), 0);
	ck_assert_int_eq(n, 2);
	ck_assert_int_eq(v14->get_gin_properties.v14(&signals), 0);
	ck_assert(!signals.strong && signals.va);
	ck_assert_int_eq(v14->get_properties(1, &p), 0);
	ck_assert_int_eq(p.device_type, 3);
	ck_assert_int_eq(p.speed, 800001);
	ck_assert_int_eq(v14->listen(ctx, 0, handle, &l), 0);
	handles[0] = handle;
	ck_assert_int_eq(v14->connect.v11(ctx, handles, 1, 0, l, &coll), 0);
	ck_assert_int_eq(v14->close_listen(l), 0);
	ck_assert_int_eq(v14->create_context.v14(coll, &k, &x, &devh), 0);
	ck_assert_int_eq(seen->device_contexts, 2);
	ck_assert_int_eq(seen->backend_version, 7);
	ck_assert_int_eq(seen->rank_stride, 3);
	ck_assert_ptr_nonnull(devh);
	ck_assert_int_eq(v14->reg_mr(coll, pair[0].data, 8, 2, 0, &mh, &gh), 0);
	ck_assert_uint_eq((uintptr_t)gh, (uintptr_t)mh + 100);
	/* the other table's puts meanwhile */
	strcpy(pair[0].data, "both");
	pair_finish(pair_put(0, 1, 5, 0, 100, 0, 0, 0));
	ck_assert_str_eq(pair[1].data + 100, "both");
	ck_assert_int_eq(v14->progress(x), 0);
	ck_assert_int_eq(v14->query_last_error(x, &failed), 0);
	ck_assert(failed);
	ck_assert_int_eq(v14->dereg_mr(coll, mh), 0);
	ck_assert_int_eq(v14->destroy_context(x), 0);
	ck_assert_int_eq(v14->close_coll(coll), 0);
	ck_assert_int_eq(v14->finalize(ctx), 0);
	ck_assert_uint_eq(seen->device_inits, 1);
	ck_assert_uint_eq(seen->device_connects, 1);
	ck_assert_uint_eq(seen->device_closes, 1);
	ck_assert_uint_eq(seen->connects, 2);
	ck_assert_uint_eq(seen->colls, 0);
	pair_close();
	ck_assert_uint_eq(seen->colls, 2);
}

/* NCCL takes GIN v13 where there is no v14; so do we, unless it is a proxy. */
TEST_EACH(v14_of_a_vendor_without_it, 2, 4)
{
	struct nb_gin_config_v14 k = { 1, 1, 2, 0, -1, 7, 3 };
	void *ctx = NULL, *l = NULL, *coll = NULL, *x = NULL, *devh = NULL;
	struct nb_gin_signals_v14 signals = { false, false };
	static char handle[NB_NET_HANDLE];
	void *handles[1] = { handle };
	int n = 9;

	set_up(13);
	seen->device_type = _i;
	ck_assert_int_eq(v14->init(&ctx, 5, NULL), 0);
	ck_assert_int_eq(v14->devices(&n), 0);
	ck_assert_int_eq(n, _i == 3 ? 3 : 0);
	if (_i == 3) {
		ck_assert_int_eq(v14->get_gin_properties.v14(&signals), 0);
		ck_assert(signals.strong && signals.va);
		ck_assert_int_eq(v14->listen(ctx, 0, handle, &l), 0);
		ck_assert_int_eq(v14->connect.v11(ctx, handles, 1, 0, l, &coll), 0);
		ck_assert_int_eq(v14->create_context.v14(coll, &k, &x, &devh), 0);
		ck_assert_ptr_eq(devh, seen);
		ck_assert_int_eq(v14->destroy_context(x), 0);
		ck_assert_int_eq(v14->close_coll(coll), 0);
		ck_assert_int_eq(v14->close_listen(l), 0);
	}
	/* NCCL calls no finalize for a plugin without devices */
	ck_assert(_i == 3 || !ctx);
	ck_assert_int_eq(v14->finalize(ctx), 0);
	ck_assert_uint_eq(seen->inits, 1);
	ck_assert_uint_eq(seen->finalizes, 1);
	/* the next communicator: the proxy's table alone makes an instance */
	ck_assert_int_eq(v14->init(&ctx, 6, NULL), 0);
	ck_assert_int_eq(v14->finalize(ctx), 0);
	ck_assert_int_eq(rma->init(&ctx, 6, NULL), 0);
	ck_assert_int_eq(rma->finalize(ctx), 0);
	ck_assert_uint_eq(seen->inits, _i == 3 ? 3 : 2);
	ck_assert_uint_eq(seen->finalizes, seen->inits);
}

TEST(v14_stays_after_an_error_and_while_it_is_used)
{
	static char handle[NB_NET_HANDLE];
	void *first = NULL, *second = NULL, *l = NULL;
	int n = 0;

	set_up(15);
	seen->fail_devices = NB_NET_SYSTEM;
	ck_assert_int_eq(v14->init(&first, 5, NULL), 0);
	ck_assert_int_eq(seen->fail_devices, 0);
	ck_assert_ptr_nonnull(first);
	ck_assert_int_eq(v14->devices(&n), 0);
	ck_assert_int_eq(n, 2);
	seen->no_device = true;
	ck_assert_int_eq(v14->init(&second, 6, NULL), 0);
	ck_assert_int_eq(v14->listen(first, 0, handle, &l), 0);
	ck_assert_int_eq(v14->close_listen(l), 0);
	ck_assert_int_eq(v14->finalize(second), 0);
	ck_assert_int_eq(v14->finalize(first), 0);
}

/* RMA alone; our TCP: NCCL goes to the next GIN plugin. */
TEST_EACH(v14_without_a_device_table_has_no_device, 0, 2)
{
	void *ctx = seen, *coll = NULL, *l = NULL, *h = pair_handle[0];
	struct nb_gin_signals_v14 signals;
	int n = 9;

	set_up(14);
	if (_i) {
		unsetenv("NCCLBPF_CHAIN_GIN");
		setenv("NCCLBPF_GIN", "on", 1);
	}
	ck_assert_int_eq(v14->init(&ctx, 5, NULL), 0);
	ck_assert_int_eq(v14->devices(&n), 0);
	ck_assert_int_eq(n, 0);
	ck_assert_int_eq(v14->get_gin_properties.v14(&signals), NB_NET_ARGUMENT);
	ck_assert_int_eq(v14->listen(ctx, 0, h, &l), NB_NET_ARGUMENT);
	ck_assert_int_eq(v14->connect.v11(ctx, &h, 1, 0, l, &coll), NB_NET_ARGUMENT);
	ck_assert_int_eq(v14->finalize(ctx), 0); /* 2.30.7 calls it */
	ck_assert_int_eq(rma->init(&ctx, 5, NULL), 0);
	ck_assert_int_eq(rma->devices(&n), 0);
	ck_assert_int_gt(n, 0);
	ck_assert_int_eq(rma->finalize(ctx), 0);
}

TEST_EACH(a_vendor_whose_init_fails_is_left_out, 13, 18)
{
	void *ctx = NULL;
	int n = 9;

	set_up(_i);
	seen->fail_init = NB_NET_SYSTEM;
	ck_assert_int_eq(rma->init(&ctx, 5, NULL), 0);
	ck_assert_int_eq(rma->devices(&n), 0);
	ck_assert_int_eq(n, 0);
	ck_assert_ptr_null(ctx);
	/* these libraries have a table of their own for other device types */
	ck_assert_int_eq(nb_wrapped[NB_WRAPPED_GIN].state,
			 _i == 15 || _i == 17 ? NB_WRAPPED_IN_USE : NB_WRAPPED_LEFT_OUT);
	ck_assert_int_eq(v14->init(&ctx, 5, NULL), 0);
	ck_assert_int_eq(v14->devices(&n), 0);
	ck_assert_int_eq(n, _i == 15 || _i == 17 ? 2 : 0);
}

/* ---- GIN v15, RMA v16 and v17: lists of peers, properties, the abort flag ---- */

static const struct nb_gin_table_v14 *const v15 = &ncclGinPlugin_v15;
static uint32_t abort_flag = 7;

/* A collComm of @nranks ranks, of which this process has @rank, by GIN v14 or v15. */
static void *device_open(const struct nb_gin_table_v14 *t, void **ctx, int nranks, int rank)
{
	static char handle[NB_NET_HANDLE];
	void *handles[4] = { handle, handle, handle, handle };
	void *l = NULL, *coll = NULL;
	int rc;

	ck_assert_int_eq(t->init(ctx, 5, NULL), 0);
	ck_assert_int_eq(t->listen(*ctx, 0, handle, &l), 0);
	rc = t == v15 ? t->connect.v15(*ctx, handles, nranks, rank, l, &coll, &abort_flag)
		      : t->connect.v11(*ctx, handles, nranks, rank, l, &coll);
	ck_assert_int_eq(rc, 0);
	ck_assert_int_eq(t->close_listen(l), 0);
	return coll;
}

static void device_close(const struct nb_gin_table_v14 *t, void *ctx, void *coll, void *x)
{
	ck_assert_int_eq(t->destroy_context(x), 0);
	ck_assert_int_eq(t->close_coll(coll), 0);
	ck_assert_int_eq(t->finalize(ctx), 0);
}

/* NCCL 2.32.6 and a vendor that has its interfaces. */
TEST(gin_v15_reaches_a_vendors_v15)
{
	int peers[2] = { 1, 3 };
	struct nb_gin_config_v15 k = { 1, 1, 2, 0, -1, 7, peers, 2 };
	struct nb_gin_signals signals = { true, false, 9 };
	void *ctx = NULL, *coll, *x = NULL, *devh = NULL;

	set_up(17);
	seen->barrier = 1;
	coll = device_open(v15, &ctx, 4, 1);
	ck_assert_int_eq(seen->device_aborted, 7);
	ck_assert_int_eq(v15->get_gin_properties.v15(&signals), 0);
	ck_assert(!signals.strong && signals.va);
	ck_assert_int_eq(signals.barrier, 1);
	ck_assert_int_eq(v15->create_context.v15(coll, &k, &x, &devh), 0);
	ck_assert_ptr_nonnull(devh);
	ck_assert_int_eq(seen->device_contexts, 2);
	ck_assert_int_eq(seen->backend_version, 7);
	ck_assert_int_eq(seen->device_npeers, 2);
	ck_assert_int_eq(seen->device_peers[0], 1);
	ck_assert_int_eq(seen->device_peers[1], 3);
	device_close(v15, ctx, coll, x);
}

/* NCCL before 2.32.6 has no flag and a stride: the vendor gets the ranks of it. */
TEST_EACH(gin_v14_reaches_a_vendors_v15, 0, 3)
{
	struct nb_gin_config_v14 k = { 1, 1, 2, 0, -1, 7, _i };
	struct nb_gin_signals_v14 signals = { true, false };
	void *ctx = NULL, *coll, *x = NULL, *devh = NULL;

	set_up(17);
	seen->barrier = 1;
	coll = device_open(v14, &ctx, 4, 3);
	ck_assert_int_eq(seen->device_aborted, 0);
	ck_assert_int_eq(v14->get_gin_properties.v14(&signals), 0);
	ck_assert(!signals.strong && signals.va);
	ck_assert_int_eq(v14->create_context.v14(coll, &k, &x, &devh), 0);
	ck_assert_int_eq(seen->backend_version, 7);
	ck_assert_int_eq(seen->device_npeers, _i == 2 ? 2 : 4);
	for (int i = 0; i < seen->device_npeers; i++)
		ck_assert_int_eq(seen->device_peers[i], _i == 2 ? 2 * i + 1 : i);
	device_close(v14, ctx, coll, x);
}

/* As NCCL's own adapter: no list, the stride 1, the usual barrier. */
TEST(gin_v15_reaches_a_vendors_v14)
{
	int peers[1] = { 2 };
	struct nb_gin_config_v15 k = { 1, 1, 2, 0, -1, 7, peers, 1 };
	struct nb_gin_signals signals = { true, false, 9 };
	void *ctx = NULL, *coll, *x = NULL, *devh = NULL;

	set_up(15);
	coll = device_open(v15, &ctx, 4, 1);
	ck_assert_int_eq(v15->get_gin_properties.v15(&signals), 0);
	ck_assert(!signals.strong && signals.va);
	ck_assert_int_eq(signals.barrier, 0);
	ck_assert_int_eq(v15->create_context.v15(coll, &k, &x, &devh), 0);
	ck_assert_int_eq(seen->backend_version, 7);
	ck_assert_int_eq(seen->rank_stride, 1);
	device_close(v15, ctx, coll, x);
	ck_assert_int_eq(v15->get_gin_properties.v15(NULL), NB_NET_ARGUMENT);
	ck_assert_int_eq(v15->create_context.v15(NULL, NULL, &x, NULL), NB_NET_ARGUMENT);
}

TEST(rma_v17_reaches_a_vendors_v17)
{
	const struct nb_rma_table_v16 *t = &ncclRmaPlugin_v17;
	struct nb_rma_config_v17 k = { 1, -1, NULL, 0 };
	struct nb_rma_properties p = { true };
	void *ctx = NULL, *coll = NULL, *l = NULL, *x = NULL, *h = pair_handle[0];
	int peers[2] = { 0, 2 };

	set_up(17);
	ck_assert_int_eq(t->init(&ctx, 5, NULL), 0);
	ck_assert_int_eq(t->listen(ctx, 0, pair_handle[0], &l), 0);
	ck_assert_int_eq(t->connect.v15(ctx, &h, 1, 0, l, &coll, &abort_flag), 0);
	ck_assert_int_eq(seen->aborted, 7);
	/* what NCCL lists, even nothing, is not made up for */
	seen->npeers = 9;
	ck_assert_int_eq(t->create_context.rma_v17(coll, &k, &x), 0);
	ck_assert_int_eq(seen->npeers, 0);
	ck_assert_int_eq(t->destroy_context(x), 0);
	k.peers = peers;
	k.npeers = 2;
	ck_assert_int_eq(t->create_context.rma_v17(coll, &k, &x), 0);
	ck_assert_int_eq(seen->npeers, 2);
	ck_assert_int_eq(seen->peers[1], 2);
	ck_assert_int_eq(t->destroy_context(x), 0);
	ck_assert_int_eq(t->get_rma_properties(coll, &p), 0);
	ck_assert(!p.flushes_all);
	seen->flushes_all = true;
	ck_assert_int_eq(t->get_rma_properties(coll, &p), 0);
	ck_assert(p.flushes_all);
	ck_assert_int_eq(t->get_rma_properties(NULL, &p), NB_NET_ARGUMENT);
	ck_assert_int_eq(t->get_rma_properties(coll, NULL), NB_NET_ARGUMENT);
	ck_assert_int_eq(t->close_listen(l), 0);
	ck_assert_int_eq(t->close_coll(coll), 0);
	ck_assert_int_eq(t->finalize(ctx), 0);
}

/* RMA v15 of NCCL 2.31: no flag, and the ranks of its stride. */
TEST(rma_v15_reaches_a_vendors_v17)
{
	set_up(17);
	pair_open();
	ck_assert_int_eq(seen->aborted, 0);
	ck_assert_int_eq(seen->npeers, 2);
	ck_assert_int_eq(seen->peers[0], 0);
	ck_assert_int_eq(seen->peers[1], 1);
	pair_close();
}

TEST(a_library_without_gin_is_left_out)
{
	void *ctx = NULL;
	char path[256];
	int n = 9;

	set_up(11);
	snprintf(path, sizeof(path), "%s/test/fakes/wrapped/none.so", build_dir());
	setenv("NCCLBPF_CHAIN_GIN", path, 1);
	ck_assert_int_eq(rma->init(&ctx, 1, NULL), 0);
	ck_assert_int_eq(rma->devices(&n), 0);
	ck_assert_int_eq(n, 0);
	ck_assert_int_eq(nb_wrapped[NB_WRAPPED_GIN].state, NB_WRAPPED_LEFT_OUT);
}

// clang-format off
UNIT_MAIN("gin_wrapped")
