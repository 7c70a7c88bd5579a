// SPDX-License-Identifier: MIT
// verbs_bench LIBNCCLBPF.so [POLICY [times]]: what the tap adds to a poll and
// to a post, over a libibverbs that does nothing, in alternation with that one
// alone. LD_LIBRARY_PATH names its folder. With POLICY its programs run; with
// "times" they read times. The calls come from a shared library, as NCCL's do.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "plugin/tap/ibv_abi.h"
#include "test/bench/bench.h"
#include "test/bench/verbs_calls.h"
#include "test/fakes/host/net.h"

enum { BATCH = 64, TIMES = 2000, ROUNDS = 31 };

static void need(int cond, const char *what)
{
	if (cond)
		return;
	fprintf(stderr, "verbs_bench: %s\n", what);
	exit(1);
}

/* A policy that was not loaded would be measured as one that costs nothing. */
static void no_warnings(int level, unsigned long flags, const char *file, int line, const char *fmt,
			...)
{
	enum { NCCL_LOG_WARN = 2 };

	(void)flags, (void)file, (void)line;
	need(level > NCCL_LOG_WARN, fmt);
}

/* The three pointers of a context, as the library and as the tap left them. */
struct path {
	nb_ibv_post_send_fn *post_send;
	nb_ibv_poll_cq_fn *poll_cq;
};

static struct nb_ibv_context *context;
static struct nb_ibv_qp *qp;

static struct path path_now(void)
{
	return (struct path){ context->post_send, context->poll_cq };
}

static double poll_time(struct path p, const struct verbs_calls *from)
{
	double ns = from->empty_polls(p.poll_cq, qp->send_cq, BATCH * TIMES);

	need(ns >= 0, "a poll found something");
	return ns / (BATCH * TIMES);
}

/* Posts alone: their completions are taken between the batches. */
static double post_time(struct path p, const struct verbs_calls *from)
{
	struct nb_ibv_wc wc[1];
	double spent = 0;

	for (int t = 0; t < TIMES; t++) {
		double ns = from->posts(p.post_send, qp, BATCH);

		need(ns >= 0, "a post failed");
		spent += ns;
		for (int i = 0; i < BATCH; i++)
			p.poll_cq(qp->send_cq, 1, wc);
	}
	return spent / (BATCH * TIMES);
}

struct row {
	double (*fn)(struct path p, const struct verbs_calls *from);
	const struct verbs_calls *from;
	const char *key, *text;
	double budget;
};

static void compare(struct path plain, struct path tapped, struct row r)
{
	double more[ROUNDS], median;

	r.fn(plain, r.from);
	r.fn(tapped, r.from);
	for (int i = 0; i < ROUNDS; i++) {
		/* either goes first as often */
		double a = i & 1 ? 0 : r.fn(plain, r.from);
		double b = r.fn(tapped, r.from);

		if (i & 1)
			a = r.fn(plain, r.from);
		more[i] = b - a;
		bench_yardstick();
	}
	median = bench_median(more, ROUNDS);
	printf("%-64s %8.2f ns\n", r.text, median);
	bench_row(r.key, r.text, median, "ns", r.budget);
}

static void *verb(void *lib, const char *name)
{
	void *f = dlvsym(lib, name, "IBVERBS_1.1");

	need(f != NULL, name);
	return f;
}

/* The rows by number of arguments. */
static struct {
	int argc;
	struct row row;
} rows[] = {
	{ 2, { poll_time, NULL, "verbs.poll", "an empty poll_cq through the tap, added", 1 } },
	{ 2,
	  { poll_time, &verbs_calls, "verbs.poll_far",
	    "an empty poll_cq through the tap, NCCL linked into the program, added", 0 } },
	{ 2, { post_time, NULL, "verbs.post", "post_send through the tap, added", 5 } },
	{ 3,
	  { poll_time, NULL, "verbs.poll_hook",
	    "an empty poll_cq with a program on verbs/done, added", 5 } },
	{ 3,
	  { post_time, NULL, "verbs.post_hook",
	    "post_send with an empty program on verbs/post, added", 25 } },
	{ 4,
	  { post_time, NULL, "verbs.post_times",
	    "post_send with a program that reads how long it took, added", 0 } },
};

int main(int argc, char **argv)
{
	struct nb_ibv_qp_init_attr want = { .cap = { 128, 128, 1, 1, 0 } };
	struct nb_ibv_context *(*open_device)(struct nb_ibv_device *);
	struct nb_ibv_qp *(*create_qp)(struct nb_ibv_pd *, struct nb_ibv_qp_init_attr *);
	struct host_net_config config = { -1 };
	const struct host_net_v11 *net;
	struct path plain, tapped;
	const struct verbs_calls *from;
	void *ctx, *plugin, *lib, *near;

	need(argc >= 2 && argc <= 4, "usage: LIBNCCLBPF.so [POLICY [times]]");
	setenv("NCCLBPF_CONTROL", "off", 1);
	setenv("NCCLBPF_VERBS", "on", 1);
	setenv("NCCLBPF_NET", "off", 1);
	if (argc > 2)
		setenv("NCCLBPF_POLICY", argv[2], 1);
	plugin = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
	need(plugin != NULL, argv[1]);
	lib = dlopen("libibverbs.so", RTLD_NOW);
	need(lib && dlsym(lib, "ncclbpf_tap"), "libibverbs.so is not the tap");
	net = dlsym(plugin, "ncclNetPlugin_v11");
	need(net != NULL, "ncclNetPlugin_v11");
	net->init(&ctx, 1, &config, no_warnings, NULL);
	*(void **)&open_device = verb(dlopen("libibverbs.so.1", RTLD_NOW), "ibv_open_device");
	context = open_device(NULL);
	plain = path_now();
	*(void **)&open_device = verb(lib, "ibv_open_device");
	*(void **)&create_qp = verb(lib, "ibv_create_qp");
	context = open_device(NULL);
	qp = create_qp(NULL, &want);
	tapped = path_now();
	need(plain.poll_cq != tapped.poll_cq, "the tap is not in between");
	near = dlopen("verbs_calls.so", RTLD_NOW | RTLD_LOCAL);
	need(near != NULL, "verbs_calls.so");
	from = dlsym(near, VERBS_CALLS_SYMBOL);
	need(from && from != &verbs_calls, VERBS_CALLS_SYMBOL);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (rows[i].argc != argc)
			continue;
		if (!rows[i].row.from)
			rows[i].row.from = from;
		compare(plain, tapped, rows[i].row);
	}
	return 0;
}
