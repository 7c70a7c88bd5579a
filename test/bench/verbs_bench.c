// SPDX-License-Identifier: MIT
// verbs_bench LIBNCCLBPF.so [POLICY [times]]: what the tap adds to a poll and
// to a post, over a libibverbs that does nothing, in alternation with that one
// alone. LD_LIBRARY_PATH names its folder. With POLICY its programs run; with
// "times" they read times.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "plugin/tap/ibv_abi.h"
#include "test/bench/bench.h"
#include "test/fakes/host/net.h"

enum { BATCH = 64, TIMES = 2000, ROUNDS = 31 };

static void need(int cond, const char *what)
{
	if (cond)
		return;
	fprintf(stderr, "verbs_bench: %s\n", what);
	exit(1);
}

static void quiet(int level, unsigned long flags, const char *file, int line,
		  const char *fmt, ...)
{
	(void)level, (void)flags, (void)file, (void)line, (void)fmt;
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

static double empty_polls(struct path p)
{
	double start = bench_now();
	struct nb_ibv_wc wc[4];

	for (int i = 0; i < BATCH * TIMES; i++)
		if (p.poll_cq(qp->send_cq, 4, wc))
			exit(1);
	return (bench_now() - start) / (BATCH * TIMES);
}

/* Posts alone: their completions are taken between the batches. */
static double posts(struct path p)
{
	struct nb_ibv_sge piece = { 0, 4096, 0 };
	struct nb_ibv_send_wr w = { .sg_list = &piece,
				    .num_sge = 1,
				    .send_flags = NB_IBV_SEND_SIGNALED };
	struct nb_ibv_send_wr *bad;
	struct nb_ibv_wc wc[1];
	double spent = 0;

	for (int t = 0; t < TIMES; t++) {
		double start = bench_now();

		for (int i = 0; i < BATCH; i++)
			if (p.post_send(qp, &w, &bad))
				exit(1);
		spent += bench_now() - start;
		for (int i = 0; i < BATCH; i++)
			p.poll_cq(qp->send_cq, 1, wc);
	}
	return spent / (BATCH * TIMES);
}

static void compare(struct path plain, struct path tapped,
		    double (*fn)(struct path), const char *key,
		    const char *text, double budget)
{
	double more[ROUNDS], median;

	fn(plain);
	fn(tapped);
	for (int i = 0; i < ROUNDS; i++) {
		/* either goes first as often */
		double a = i & 1 ? 0 : fn(plain), b = fn(tapped);

		if (i & 1)
			a = fn(plain);
		more[i] = b - a;
		bench_yardstick();
	}
	median = bench_median(more, ROUNDS);
	printf("%-64s %8.2f ns\n", text, median);
	bench_row(key, text, median, "ns", budget);
}

static void *verb(void *lib, const char *name)
{
	void *f = dlvsym(lib, name, "IBVERBS_1.1");

	need(f != NULL, name);
	return f;
}

int main(int argc, char **argv)
{
	struct nb_ibv_qp_init_attr want = { .cap = { 128, 128, 1, 1, 0 } };
	struct nb_ibv_context *(*open_device)(struct nb_ibv_device *);
	struct nb_ibv_qp *(*create_qp)(struct nb_ibv_pd *,
				       struct nb_ibv_qp_init_attr *);
	struct host_net_config config = { -1 };
	const struct host_net_v11 *net;
	struct path plain, tapped;
	void *ctx, *plugin, *lib;

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
	net->init(&ctx, 1, &config, quiet, NULL);
	*(void **)&open_device =
		verb(dlopen("libibverbs.so.1", RTLD_NOW), "ibv_open_device");
	context = open_device(NULL);
	plain = path_now();
	*(void **)&open_device = verb(lib, "ibv_open_device");
	*(void **)&create_qp = verb(lib, "ibv_create_qp");
	context = open_device(NULL);
	qp = create_qp(NULL, &want);
	tapped = path_now();
	need(plain.poll_cq != tapped.poll_cq, "the tap is not in between");
	if (argc == 2) {
		compare(plain, tapped, empty_polls, "verbs.poll",
			"an empty poll_cq through the tap, added", 1);
		compare(plain, tapped, posts, "verbs.post",
			"post_send through the tap, added", 5);
	} else if (argc == 4) {
		compare(plain, tapped, posts, "verbs.post_times",
			"post_send with a program that reads how long it took, "
			"added",
			0);
	} else {
		compare(plain, tapped, empty_polls, "verbs.poll_hook",
			"an empty poll_cq with a program on verbs/done, added",
			5);
		compare(plain, tapped, posts, "verbs.post_hook",
			"post_send with an empty program on verbs/post, added",
			25);
	}
	return 0;
}
