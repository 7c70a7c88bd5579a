// SPDX-License-Identifier: MIT
// net_bench LIBNCCLBPF.so NET_PLUGIN_V12.so: our TCP transport beside a plain
// blocking copy over TCP, two threads each; and what wrapping a net plugin
// costs, in one thread that plays both ends. All on loopback, and what is
// compared takes turns.
#include <arpa/inet.h>
#include <dlfcn.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "test/bench/bench.h"
#include "test/fakes/host/net.h"

enum { ROUNDS = 41, MIB64 = 64 << 20, NCCL_PTR_HOST = 1 };

static char *from, *to;

static void need(int ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "net_bench: %s\n", what);
	exit(1);
}

/* ---- a net plugin ---- */

struct end {
	const struct host_net_v12 *net;
	void *ctx, *send, *recv;
	void *from, *to; /* memory handles of the buffers */
};

static struct end open_net(const char *path)
{
	void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL), *listener, *d;
	struct host_net_config config = { -1 };
	char handle[HOST_HANDLE];
	struct end e = { .net = NULL };
	int n = 0;

	need(lib != NULL, path);
	e.net = dlsym(lib, "ncclNetPlugin_v12");
	need(e.net && !e.net->init(&e.ctx, 1, &config, NULL, NULL) && !e.net->devices(&n),
	     "no net plugin");
	if (n < 1)
		return e;
	need(!e.net->listen(e.ctx, 0, handle, &listener), "listen");
	while (!e.send || !e.recv) {
		if (!e.send)
			need(!e.net->connect(e.ctx, 0, handle, &e.send, &d), "connect");
		if (!e.recv)
			need(!e.net->accept(listener, &e.recv, &d), "accept");
	}
	e.net->closeListen(listener);
	need(!e.net->regMr(e.send, from, MIB64, NCCL_PTR_HOST, &e.from) &&
		     !e.net->regMr(e.recv, to, MIB64, NCCL_PTR_HOST, &e.to),
	     "regMr");
	return e;
}

static void *post_send(struct end *e, size_t size)
{
	void *req = NULL;

	while (!req)
		need(!e->net->isend(e->send, from, size, 0, e->from, NULL, &req), "isend");
	return req;
}

static void *post_recv(struct end *e, size_t size)
{
	/* as NCCL: one handle of the profiler for each buffer, here none */
	void *req = NULL, *data = to, *mh = e->to, *ph = NULL;
	int tag = 0;

	while (!req)
		need(!e->net->irecv(e->recv, 1, &data, &size, &tag, &mh, &ph, &req), "irecv");
	return req;
}

static void finish(struct end *e, void *req)
{
	int done = 0, size;

	/* NCCL's progress thread lets others run where nothing moves */
	while (!done) {
		need(!e->net->test(req, &done, &size), "test");
		if (!done)
			sched_yield();
	}
}

/* ---- wrapped and not, one thread ---- */

static double one_thread(struct end *e, size_t size, int times)
{
	double start = bench_now();

	for (int i = 0; i < times; i++) {
		void *r = post_recv(e, size), *s = post_send(e, size);
		int a = 0, b = 0, n;

		while (!a || !b) {
			if (!b)
				need(!e->net->test(s, &b, NULL), "test");
			if (!a)
				need(!e->net->test(r, &a, &n), "test");
		}
	}
	return (bench_now() - start) / times;
}

static void wrapping(struct end *plain, struct end *wrapped, const char *key, const char *words,
		     size_t size, int times, int rounds)
{
	double ratio[ROUNDS * 10], ns[ROUNDS * 10], median;
	char text[96];

	one_thread(plain, size, times);
	one_thread(wrapped, size, times);
	for (int i = 0; i < rounds; i++) {
		/* either goes first as often */
		double a = i & 1 ? 0 : one_thread(plain, size, times);
		double b = one_thread(wrapped, size, times);

		if (i & 1)
			a = one_thread(plain, size, times);
		ratio[i] = b / a;
		ns[i] = a;
	}
	median = bench_median(ratio, rounds);
	snprintf(text, sizeof(text), "wrapped net plugin, against the same unwrapped, %s", words);
	printf("%-64s %8.3f x of %.0f ns\n", text, median, bench_median(ns, rounds));
	bench_row(key, text, median, "x", 1.02);
}

/* ---- our TCP and a plain copy, two threads ---- */

struct plain {
	int out, in;
};

static struct plain open_plain(void)
{
	struct sockaddr_in a = { .sin_family = AF_INET };
	socklen_t size = sizeof(a);
	int l = socket(AF_INET, SOCK_STREAM, 0), one = 1;
	struct plain p;

	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	need(!bind(l, (struct sockaddr *)&a, size) && !listen(l, 1) &&
		     !getsockname(l, (struct sockaddr *)&a, &size),
	     "plain sockets");
	p.out = socket(AF_INET, SOCK_STREAM, 0);
	need(!connect(p.out, (struct sockaddr *)&a, size), "plain connect");
	p.in = accept(l, NULL, NULL);
	setsockopt(p.out, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	close(l);
	return p;
}

static void *plain_sender(void *arg)
{
	size_t left = MIB64;

	while (left) {
		ssize_t n = send(*(int *)arg, from + MIB64 - left, left, 0);

		need(n > 0, "send");
		left -= (size_t)n;
	}
	return NULL;
}

static double plain_copy(struct plain *p)
{
	double start = bench_now();
	size_t left = MIB64;
	pthread_t t;

	need(!pthread_create(&t, NULL, plain_sender, &p->out), "thread");
	while (left) {
		ssize_t n = recv(p->in, to + MIB64 - left, left, 0);

		need(n > 0, "recv");
		left -= (size_t)n;
	}
	pthread_join(t, NULL);
	return bench_now() - start;
}

static void *net_sender(void *arg)
{
	struct end *e = arg;

	finish(e, post_send(e, MIB64));
	return NULL;
}

static double net_copy(struct end *e)
{
	double start = bench_now();
	pthread_t t;

	need(!pthread_create(&t, NULL, net_sender, e), "thread");
	finish(e, post_recv(e, MIB64));
	pthread_join(t, NULL);
	return bench_now() - start;
}

static void copying(struct end *e)
{
	static const char text[] = "our TCP transport, against a plain blocking copy, 64 MiB";
	double ratio[ROUNDS], ns[ROUNDS], median;
	struct plain p = open_plain();

	plain_copy(&p);
	net_copy(e);
	for (int i = 0; i < ROUNDS; i++) {
		double a = i & 1 ? 0 : plain_copy(&p), b = net_copy(e);

		if (i & 1)
			a = plain_copy(&p);
		ratio[i] = b / a;
		ns[i] = a;
	}
	median = bench_median(ratio, ROUNDS);
	printf("%-64s %8.3f x of %.1f ms\n", text, median, bench_median(ns, ROUNDS) / 1e6);
	bench_row("net.tcp", text, median, "x", 1.10);
}

int main(int argc, char **argv)
{
	struct end plain, wrapped;

	if (argc != 3) {
		fprintf(stderr, "usage: net_bench LIBNCCLBPF.so NET_PLUGIN_V12.so\n");
		return 64;
	}
	setenv("NCCLBPF_CONTROL", "off", 1);
	setenv("NCCL_NET_PLUGIN", argv[1], 1);
	setenv("NCCLBPF_CHAIN_NET", argv[2], 1);
	setenv("NCCL_SOCKET_IFNAME", "lo", 1);
	from = malloc(MIB64);
	to = malloc(MIB64);
	need(from && to, "memory");
	memset(from, 1, MIB64);
	memset(to, 2, MIB64);
	plain = open_net(argv[2]);
	wrapped = open_net(argv[1]);
	if (!plain.send || !wrapped.send) {
		for (int i = 0; i < 4; i++)
			bench_skip((const char *[]){ "net.tcp", "net.wrap_64", "net.wrap_64k",
						     "net.wrap_64m" }[i],
				   "net transport", "no loopback interface");
		return 0;
	}
	copying(&plain);
	wrapping(&plain, &wrapped, "net.wrap_64", "64 B", 64, 500, 401);
	wrapping(&plain, &wrapped, "net.wrap_64k", "64 KiB", 64 << 10, 100, 201);
	wrapping(&plain, &wrapped, "net.wrap_64m", "64 MiB", MIB64, 1, ROUNDS);
	return 0;
}
