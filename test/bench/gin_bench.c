// SPDX-License-Identifier: MIT
// gin_bench LIBNCCLBPF.so POLICY: puts and signals over libnccl-net-tcp.so,
// called through RMA v15 as NCCL's proxy does. Two ranks on loopback, one
// thread that plays both, so that no scheduler is measured. A round trip stands
// beside a plain one over TCP; what a program adds to a put is the difference
// between two copies of the library, one with POLICY. What is compared takes
// turns.
#include <arpa/inet.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <unistd.h>

#include "plugin/abi/gin_abi.h"
#include "test/bench/bench.h"

enum { MIB = 1 << 20, WINDOW = 4 * MIB, CONTEXTS = 4, BATCH = 64 };

static void need(int ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "gin_bench: %s\n", what);
	exit(1);
}

/* ---- two ranks ---- */

struct rank {
	const struct nb_gin_table *t;
	void *instance, *listener, *coll, *ctx, *window, *signals;
	char handle[NB_NET_HANDLE];
	void *handles[2];
	int number;
	char *data;
	uint64_t signal, expected;
};

static void *rank_connect(void *arg)
{
	struct rank *r = arg;

	need(!r->t->connect.v11(r->instance, r->handles, 2, r->number, r->listener, &r->coll),
	     "connect");
	return NULL;
}

static void rank_register(struct rank *r)
{
	struct nb_rma_config k = { CONTEXTS, -1, 0 };

	r->data = malloc(WINDOW);
	need(r->data != NULL, "memory");
	memset(r->data, r->number, WINDOW);
	need(!r->t->create_context.rma_v14(r->coll, &k, &r->ctx) &&
		     !r->t->reg_mr.rma_v14(r->coll, &r->signal, 8, NB_NET_HOST_MEMORY, 1,
					   &r->signals) &&
		     !r->t->reg_mr.rma_v14(r->coll, r->data, WINDOW, NB_NET_HOST_MEMORY, 0,
					   &r->window),
	     "registration");
}

/* Connect both ranks. False: there is no loopback interface. */
static bool ranks_open(struct rank *r, void *lib)
{
	const struct nb_gin_table *t = dlsym(lib, "ncclRmaPlugin_v15");
	pthread_t thread;
	int n = 0;

	need(t != NULL, "no RMA v15");
	for (int i = 0; i < 2; i++) {
		r[i] = (struct rank){ .t = t, .number = i };
		need(!t->init(&r[i].instance, 1, NULL) && !t->devices(&n), "init");
		if (n < 1)
			return false;
		need(!t->listen(r[i].instance, 0, r[i].handle, &r[i].listener), "listen");
	}
	for (int i = 0; i < 2; i++)
		for (int k = 0; k < 2; k++)
			r[i].handles[k] = r[k].handle;
	need(!pthread_create(&thread, NULL, rank_connect, &r[1]), "thread");
	rank_connect(&r[0]);
	pthread_join(thread, NULL);
	rank_register(&r[0]);
	rank_register(&r[1]);
	return true;
}

static void *put_signal(struct rank *r, struct rank *to, int context, size_t size)
{
	void *req = NULL;

	need(!r->t->iput_signal.rma_v15(r->ctx, context, 0, r->window, size, 0, r->window,
					(uint32_t)to->number, 0, r->signals, 1, NB_GIN_ADD, true, 0,
					&req),
	     "iputSignal");
	to->expected++;
	return req;
}

static void wait_signal(struct rank *r, struct rank *from)
{
	while (__atomic_load_n(&r->signal, __ATOMIC_ACQUIRE) < r->expected) {
		from->t->progress(from->ctx);
		r->t->progress(r->ctx);
	}
}

static void finish(struct rank *r, void *req)
{
	int done = 0;

	for (;;) {
		need(!r->t->test(r->coll, req, &done), "test");
		if (done)
			return;
		r->t->progress(r->ctx);
	}
}

/* ---- a round trip ---- */

static double gin_trips(struct rank *r, size_t size, int times)
{
	double start = bench_now();

	for (int i = 0; i < times; i++) {
		void *there = put_signal(&r[0], &r[1], 0, size), *back;

		wait_signal(&r[1], &r[0]);
		back = put_signal(&r[1], &r[0], 0, size);
		wait_signal(&r[0], &r[1]);
		finish(&r[0], there);
		finish(&r[1], back);
	}
	return (bench_now() - start) / times;
}

static void plain_open(int fd[2])
{
	struct sockaddr_in a = { .sin_family = AF_INET };
	socklen_t size = sizeof(a);
	int l = socket(AF_INET, SOCK_STREAM, 0), one = 1;

	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	need(!bind(l, (struct sockaddr *)&a, size) && !listen(l, 1) &&
		     !getsockname(l, (struct sockaddr *)&a, &size),
	     "plain sockets");
	fd[0] = socket(AF_INET, SOCK_STREAM, 0);
	need(!connect(fd[0], (struct sockaddr *)&a, size), "plain connect");
	fd[1] = accept(l, NULL, NULL);
	for (int i = 0; i < 2; i++)
		setsockopt(fd[i], IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	close(l);
}

static void plain_copy(int out, const char *from, int in, char *to, size_t size)
{
	size_t sent = 0, got = 0;

	while (got < size) {
		ssize_t n = sent < size ? send(out, from + sent, size - sent, MSG_DONTWAIT) : 0;

		sent += n > 0 ? (size_t)n : 0;
		n = recv(in, to + got, size - got, MSG_DONTWAIT);
		got += n > 0 ? (size_t)n : 0;
	}
}

static double plain_trips(int fd[2], struct rank *r, size_t size, int times)
{
	double start = bench_now();

	for (int i = 0; i < times; i++) {
		plain_copy(fd[0], r[0].data, fd[1], r[1].data, size);
		plain_copy(fd[1], r[1].data, fd[0], r[0].data, size);
	}
	return (bench_now() - start) / times;
}

enum { ROUNDS = 101 };

static void trips(struct rank *r, int fd[2], const char *key, const char *words, size_t size,
		  int times, double budget)
{
	double ratio[ROUNDS], us[ROUNDS], median;
	char text[96];

	gin_trips(r, size, times);
	plain_trips(fd, r, size, times);
	for (int i = 0; i < ROUNDS; i++) {
		/* either goes first as often */
		double a = i & 1 ? 0 : plain_trips(fd, r, size, times);
		double b = gin_trips(r, size, times);

		if (i & 1)
			a = plain_trips(fd, r, size, times);
		ratio[i] = b / a;
		us[i] = b / 1e3;
	}
	median = bench_median(ratio, ROUNDS);
	snprintf(text, sizeof(text), "put and signal, there and back, / the same by plain TCP, %s",
		 words);
	printf("%-64s %8.3f x, %.1f us\n", text, median, bench_median(us, ROUNDS));
	bench_row(key, text, median, "x", budget);
}

/* ---- many puts ---- */

/* Puts of 64 B, BATCH descriptors a round, until the last has arrived. */
static double many_puts(struct rank *r, int times)
{
	void *req[BATCH];
	double start = bench_now();

	for (int i = 0; i < times; i++) {
		for (int k = 0; k < BATCH; k++)
			req[k] = put_signal(&r[0], &r[1], 0, 64);
		wait_signal(&r[1], &r[0]);
		for (int k = 0; k < BATCH; k++)
			finish(&r[0], req[k]);
	}
	return (bench_now() - start) / times / BATCH;
}

static void rate(struct rank *r)
{
	static const char text[] = "put of 64 B with its signal to one peer, both ends";
	double ns[ROUNDS], median;

	many_puts(r, 10);
	for (int i = 0; i < ROUNDS; i++) {
		bench_yardstick();
		ns[i] = many_puts(r, 50);
	}
	median = bench_median(ns, ROUNDS);
	printf("%-64s %8.0f ns, %.0f a second\n", text, median, 1e9 / median);
	/* 500,000 a second */
	bench_row("gin.put", text, median, "ns", 2000);
}

/* WINDOW bytes, four times, spread over @n contexts. */
static double bandwidth(struct rank *r, int n)
{
	void *req[4 * CONTEXTS];
	double start = bench_now();

	for (int i = 0; i < 4 * CONTEXTS; i++)
		req[i] = put_signal(&r[0], &r[1], i % n, MIB);
	wait_signal(&r[1], &r[0]);
	for (int i = 0; i < 4 * CONTEXTS; i++)
		finish(&r[0], req[i]);
	return bench_now() - start;
}

static void contexts(struct rank *r, const char *key, int n)
{
	double ratio[ROUNDS], gb[ROUNDS], median;
	char text[64];

	for (int i = 0; i < ROUNDS; i++) {
		double a = i & 1 ? 0 : bandwidth(r, 1);
		double b = bandwidth(r, n);

		if (i & 1)
			a = bandwidth(r, 1);
		ratio[i] = b / a;
		gb[i] = 4.0 * CONTEXTS * MIB / a;
	}
	snprintf(text, sizeof(text), "16 MiB put through %d contexts / through 1 context", n);
	median = bench_median(ratio, ROUNDS);
	printf("%-64s %8.3f x of %.2f GB/s\n", text, median, bench_median(gb, ROUNDS));
	bench_row(key, text, median, "x", 1.10);
}

/* ---- what a program adds ---- */

/* Empty puts to the own rank: no system call, so little else is measured. */
static double own_puts(struct rank *r)
{
	enum { TIMES = 20000 };
	double start = bench_now();

	for (int i = 0; i < TIMES; i++)
		finish(r, put_signal(r, r, 0, 0));
	return (bench_now() - start) / TIMES;
}

static void hook(struct rank *plain, struct rank *hooked)
{
	static const char text[] = "program that does nothing on gin/put, a put";
	double ns[ROUNDS], base[ROUNDS], median;

	own_puts(plain);
	own_puts(hooked);
	for (int i = 0; i < ROUNDS; i++) {
		double a = i & 1 ? 0 : own_puts(plain), b = own_puts(hooked);

		if (i & 1)
			a = own_puts(plain);
		bench_yardstick();
		ns[i] = b - a;
		base[i] = a;
	}
	median = bench_median(ns, ROUNDS);
	printf("%-64s %8.1f ns over %.1f ns\n", text, median, bench_median(base, ROUNDS));
	bench_row("gin.hook", text, median, "ns", 60);
}

/* ---- */

/* Another copy of the library has variables of its own. */
static void *open_copy(const char *path)
{
	char copy[] = "/tmp/gin_bench_XXXXXX";
	int in = open(path, O_RDONLY), out = mkstemp(copy);
	void *lib;

	need(in >= 0 && out >= 0, path);
	while (sendfile(out, in, NULL, 1 << 30) > 0)
		;
	close(in);
	close(out);
	lib = dlopen(copy, RTLD_NOW | RTLD_LOCAL);
	unlink(copy);
	need(lib != NULL, copy);
	return lib;
}

/* Round trips; a put of more than 64 KiB has the smaller budget. */
static const struct {
	const char *key, *words;
	size_t size;
	int times;
	double budget;
} sizes[] = {
	{ "gin.trip_4", "4 B", 4, 200, 1.3 },
	{ "gin.trip_1k", "1 KiB", 1 << 10, 200, 1.3 },
	{ "gin.trip_64k", "64 KiB", 64 << 10, 50, 1.3 },
	{ "gin.trip_128k", "128 KiB", 128 << 10, 30, 1.1 },
	{ "gin.trip_256k", "256 KiB", 256 << 10, 20, 1.1 },
	{ "gin.trip_512k", "512 KiB", 512 << 10, 10, 1.1 },
	{ "gin.trip_1m", "1 MiB", MIB, 5, 1.1 },
};
enum { NSIZES = sizeof(sizes) / sizeof(sizes[0]) };

static const char *const other_keys[] = { "gin.put", "gin.contexts_2", "gin.contexts_3",
					  "gin.contexts", "gin.hook" };

static void skip_all(void)
{
	for (size_t i = 0; i < NSIZES; i++)
		bench_skip(sizes[i].key, "GIN", "no loopback interface");
	for (size_t i = 0; i < sizeof(other_keys) / sizeof(*other_keys); i++)
		bench_skip(other_keys[i], "GIN", "no loopback interface");
}

int main(int argc, char **argv)
{
	static struct rank plain[2], hooked[2];
	static char tcp[4096];
	void *lib;
	int fd[2];

	if (argc != 3 || !strchr(argv[1], '/')) {
		fprintf(stderr, "usage: gin_bench LIBNCCLBPF.so POLICY\n");
		return 64;
	}
	setenv("NCCLBPF_CONTROL", "off", 1);
	/* not beside the copy */
	snprintf(tcp, sizeof(tcp), "%.*s/libnccl-net-tcp.so",
		 (int)(strrchr(argv[1], '/') - argv[1]), argv[1]);
	setenv("NCCLBPF_CHAIN_GIN", tcp, 1);
	setenv("NCCL_SOCKET_IFNAME", "lo", 1);
	lib = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
	need(lib != NULL, argv[1]);
	if (!ranks_open(plain, lib)) {
		skip_all();
		return 0;
	}
	setenv("NCCLBPF_POLICY", argv[2], 1);
	ranks_open(hooked, open_copy(argv[1]));
	plain_open(fd);
	for (size_t i = 0; i < NSIZES; i++)
		trips(plain, fd, sizes[i].key, sizes[i].words, sizes[i].size, sizes[i].times,
		      sizes[i].budget);
	rate(plain);
	contexts(plain, "gin.contexts_2", 2);
	contexts(plain, "gin.contexts_3", 3);
	contexts(plain, "gin.contexts", CONTEXTS);
	hook(&plain[0], &hooked[0]);
	return 0;
}
