// SPDX-License-Identifier: MIT
/*
 * A ring AllReduce on CPUs, by N processes that use only NCCL's net plugin
 * interface. Each rank sends to the next rank and receives from the previous
 * one. A round has 2 (N - 1) steps. The first half adds up, and the second
 * half passes the sums on. Sums are whole numbers, so the program checks every
 * bit.
 *
 *	ring_allreduce PLUGIN.so [--ranks 4] [--bytes 1048576] [--rounds 50]
 *		[--slow RANK:MICROSECONDS] [--wait] [--hold] [--open] [--log]
 *		[--wrong-handle]
 *
 * --slow makes one rank sleep before each step, which its neighbours' tables
 * show. --wait prints "waiting" when all ranks have loaded the plugin, and
 * connects them after a byte from standard input. Meanwhile a shell can set
 * maps or begin a trace. --hold keeps the processes until standard input ends,
 * so that a shell can read their maps. The program prints "ready" when the
 * maps can be read, and "failed" after a failure. --open keeps the connections
 * open too. --wrong-handle receives with the handle of another buffer, which
 * transports with RDMA refuse. --log writes the plugin's log to standard
 * error.
 */
#include <dlfcn.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MAX_RANKS = 64, HANDLE = 128, HOST = 1 };

typedef void logger(int level, unsigned long flags, const char *file, int line, const char *fmt,
		    ...);

/* The part of NCCL's net interface, version 12, that this program uses. */
struct net {
	const char *name;
	int (*init)(void **ctx, uint64_t comm_id, int *config, logger *log, void *prof);
	int (*devices)(int *n);
	int (*get_properties)(int dev, void *props);
	int (*listen)(void *ctx, int dev, void *handle, void **comm);
	int (*connect)(void *ctx, int dev, void *handle, void **comm, void **devh);
	int (*accept)(void *listen_comm, void **comm, void **devh);
	int (*reg_mr)(void *comm, void *data, size_t size, int type, void **mhandle);
	void *reg_mr_dmabuf;
	int (*dereg_mr)(void *comm, void *mhandle);
	int (*isend)(void *comm, void *data, size_t size, int tag, void *mhandle, void *phandle,
		     void **request);
	int (*irecv)(void *comm, int n, void **data, size_t *sizes, int *tags, void **mhandles,
		     void **phandles, void **request);
	void *iflush;
	int (*test)(void *request, int *done, int *sizes);
	int (*close_send)(void *comm);
	int (*close_recv)(void *comm);
	int (*close_listen)(void *comm);
	void *get_device_mr, *irecv_consumed, *make_vdevice;
	int (*finalize)(void *ctx);
};

/* Shared memory in which the processes exchange connection handles. */
struct shared {
	int arrived[8]; /* atomic: number of ranks at each barrier */
	int failed;	/* atomic: a rank has failed */
	int loaded;	/* atomic: number of ranks that have loaded the plugin */
	int begin;	/* atomic: the ranks may connect */
	int release;	/* atomic: the ranks may close their connections */
	unsigned char handle[MAX_RANKS][HANDLE];
};

struct ring {
	const struct net *net;
	struct shared *shared;
	int rank, ranks, barrier;
	void *ctx, *listener, *to, *from;
	void *to_mr, *incoming_mr, *data_mr; /* data_mr: received into */
	uint32_t *data, *incoming;
	size_t count; /* number of elements */
	bool open;    /* keep the connections until the end */
	bool wrong_handle;
	long slow_us;
};

static bool log_on, hold_on;

static void say(int level, unsigned long flags, const char *file, int line, const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	(void)level, (void)flags, (void)file, (void)line;
	if (!log_on)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	fprintf(stderr, "%s\n", text);
}

/* With --hold, a shell can inspect this process before it ends. */
static void leave_failed(struct ring *r)
{
	while (hold_on && !__atomic_load_n(&r->shared->release, __ATOMIC_SEQ_CST))
		usleep(2000);
	exit(1);
}

static void give_up(struct ring *r, const char *what, int rc)
{
	fprintf(stderr, "rank %d: %s: result %d\n", r->rank, what, rc);
	__atomic_store_n(&r->shared->failed, 1, __ATOMIC_SEQ_CST);
	leave_failed(r);
}
#define NEED(r, call)                           \
	do {                                    \
		int rc_ = (call);               \
		if (rc_)                        \
			give_up(r, #call, rc_); \
	} while (0)

/* A waiting rank yields the processor, and ends if another rank has failed. */
static void wait_turn(struct ring *r)
{
	if (__atomic_load_n(&r->shared->failed, __ATOMIC_SEQ_CST))
		leave_failed(r);
	sched_yield();
}

static void barrier(struct ring *r)
{
	int *n = &r->shared->arrived[r->barrier++];

	__atomic_add_fetch(n, 1, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(n, __ATOMIC_SEQ_CST) < r->ranks)
		wait_turn(r);
}

/* ---- connections ---- */

static void open_ring(struct ring *r, const char *path)
{
	void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	unsigned char handle[HANDLE];
	int config = -1, n = 0;

	r->net = lib ? dlsym(lib, "ncclNetPlugin_v12") : NULL;
	if (!r->net) {
		fprintf(stderr, "%s\n", lib ? "no ncclNetPlugin_v12" : dlerror());
		give_up(r, path, 0);
	}
	NEED(r, r->net->init(&r->ctx, 0x72696e67, &config, say, NULL));
	NEED(r, r->net->devices(&n));
	if (n < 1)
		give_up(r, "the plugin has no device", n);
	__atomic_add_fetch(&r->shared->loaded, 1, __ATOMIC_SEQ_CST);
	while (!__atomic_load_n(&r->shared->begin, __ATOMIC_SEQ_CST)) {
		usleep(1000);
		wait_turn(r);
	}
	NEED(r, r->net->listen(r->ctx, 0, r->shared->handle[r->rank], &r->listener));
	barrier(r);
	memcpy(handle, r->shared->handle[(r->rank + 1) % r->ranks], HANDLE);
	while (!r->to || !r->from) {
		void *devh = NULL;

		if (!r->to)
			NEED(r, r->net->connect(r->ctx, 0, handle, &r->to, &devh));
		if (!r->from)
			NEED(r, r->net->accept(r->listener, &r->from, &devh));
		if (!r->to || !r->from)
			wait_turn(r);
	}
	NEED(r, r->net->close_listen(r->listener));
	NEED(r, r->net->reg_mr(r->to, r->data, r->count * 4, HOST, &r->to_mr));
	NEED(r, r->net->reg_mr(r->from, r->incoming, r->count * 4, HOST, &r->incoming_mr));
	NEED(r, r->net->reg_mr(r->from, r->data, r->count * 4, HOST, &r->data_mr));
}

static void close_ring(struct ring *r)
{
	NEED(r, r->net->dereg_mr(r->to, r->to_mr));
	NEED(r, r->net->dereg_mr(r->from, r->incoming_mr));
	NEED(r, r->net->dereg_mr(r->from, r->data_mr));
	NEED(r, r->net->close_send(r->to));
	NEED(r, r->net->close_recv(r->from));
}

static size_t part(const struct ring *r, int chunk)
{
	return r->count * (size_t)chunk / (size_t)r->ranks;
}

/*
 * Run one step: send chunk @out, and receive chunk @in in place or into a
 * separate buffer.
 */
static void step(struct ring *r, int number, int out, int in)
{
	bool adding = number < r->ranks - 1;
	uint32_t *at = r->data + part(r, in);
	size_t n = part(r, in + 1) - part(r, in);
	void *place = adding ? r->incoming : at;
	void *place_mr = adding != r->wrong_handle ? r->incoming_mr : r->data_mr;
	size_t room = n * 4, size = (part(r, out + 1) - part(r, out)) * 4;
	void *send = NULL, *recv = NULL;
	int sent = 0, received = 0, bytes = 0;

	if (r->slow_us)
		usleep((useconds_t)r->slow_us);
	while (!sent || !received) {
		if (!received && !recv)
			NEED(r, r->net->irecv(r->from, 1, &place, &room, &number, &place_mr, NULL,
					      &recv));
		if (!sent && !send)
			NEED(r, r->net->isend(r->to, r->data + part(r, out), size, number, r->to_mr,
					      NULL, &send));
		if (recv && !received)
			NEED(r, r->net->test(recv, &received, &bytes));
		if (send && !sent)
			NEED(r, r->net->test(send, &sent, NULL));
		if (!sent || !received)
			wait_turn(r);
	}
	if ((size_t)bytes != n * 4)
		give_up(r, "bytes received", bytes);
	for (size_t i = 0; adding && i < n; i++)
		at[i] += r->incoming[i];
}

static uint32_t value(int rank, int round, size_t i)
{
	return (uint32_t)i * 2654435761u + (uint32_t)(rank + 1) * 40503u + (uint32_t)round;
}

static void round_trip(struct ring *r, int round)
{
	int n = r->ranks;

	for (size_t i = 0; i < r->count; i++)
		r->data[i] = value(r->rank, round, i);
	for (int s = 0; s < n - 1; s++)
		step(r, s, (r->rank - s + n) % n, (r->rank - s - 1 + n) % n);
	for (int s = 0; s < n - 1; s++)
		step(r, n - 1 + s, (r->rank - s + 1 + n) % n, (r->rank - s + n) % n);
	for (size_t i = 0; i < r->count; i++) {
		uint32_t want = 0;

		for (int k = 0; k < n; k++)
			want += value(k, round, i);
		if (r->data[i] != want) {
			fprintf(stderr, "round %d, element %zu: %u, not %u\n", round, i, r->data[i],
				want);
			give_up(r, "a sum is wrong", round);
		}
	}
}

static int work(struct ring *r, const char *path, int rounds)
{
	char number[16];

	snprintf(number, sizeof(number), "%d", r->rank);
	setenv("RANK", number, 1);
	setenv("NCCL_NET_PLUGIN", path, 1);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	r->data = calloc(r->count, 4);
	r->incoming = calloc(r->count, 4);
	if (!r->data || !r->incoming)
		give_up(r, "memory", 0);
	open_ring(r, path);
	barrier(r);
	for (int k = 0; k < rounds; k++)
		round_trip(r, k);
	barrier(r);
	if (!r->open)
		close_ring(r);
	barrier(r);
	while (!__atomic_load_n(&r->shared->release, __ATOMIC_SEQ_CST))
		usleep(2000);
	if (r->open)
		close_ring(r);
	NEED(r, r->net->finalize(r->ctx));
	free(r->data);
	free(r->incoming);
	return 0;
}

/* ---- the parent ---- */

static long option(int argc, char **argv, const char *name, long otherwise)
{
	for (int i = 2; i < argc - 1; i++)
		if (!strcmp(argv[i], name))
			return strtol(argv[i + 1], NULL, 10);
	return otherwise;
}

static bool flag(int argc, char **argv, const char *name)
{
	for (int i = 2; i < argc; i++)
		if (!strcmp(argv[i], name))
			return true;
	return false;
}

/* Returns the time that @rank sleeps before each step, in microseconds. */
static long slow(int argc, char **argv, int rank)
{
	for (int i = 2; i < argc - 1; i++)
		if (!strcmp(argv[i], "--slow")) {
			char *us;

			if (strtol(argv[i + 1], &us, 10) == rank && *us == ':')
				return strtol(us + 1, NULL, 10);
		}
	return 0;
}

/* Wait until @n counts all ranks, or a rank has failed. */
static void until_all(struct shared *s, const int *n, int ranks)
{
	while (__atomic_load_n(n, __ATOMIC_SEQ_CST) < ranks &&
	       !__atomic_load_n(&s->failed, __ATOMIC_SEQ_CST)) {
		int status;
		/* a rank that has died ends the ring */
		pid_t pid = waitpid(-1, &status, WNOHANG);

		if (pid > 0)
			__atomic_store_n(&s->failed, 1, __ATOMIC_SEQ_CST);
		usleep(2000);
	}
}

int main(int argc, char **argv)
{
	int ranks = (int)option(argc, argv, "--ranks", 4), bad = 0, status;
	long bytes = option(argc, argv, "--bytes", 1 << 20);
	int rounds = (int)option(argc, argv, "--rounds", 50);
	struct shared *s;
	char c;

	if (argc < 2 || ranks < 2 || ranks > MAX_RANKS || bytes < 4 || rounds < 1) {
		fprintf(stderr, "usage: ring_allreduce PLUGIN.so [--ranks 2..64] "
				"[--bytes N] [--rounds N] [--slow RANK:US] [--wait] "
				"[--hold] [--open] [--wrong-handle] [--log]\n");
		return 64;
	}
	log_on = flag(argc, argv, "--log");
	hold_on = flag(argc, argv, "--hold");
	s = mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (s == MAP_FAILED)
		return 1;
	for (int i = 0; i < ranks; i++) {
		struct ring r = { .shared = s,
				  .rank = i,
				  .ranks = ranks,
				  .count = (size_t)bytes / 4,
				  .open = flag(argc, argv, "--open"),
				  .wrong_handle = flag(argc, argv, "--wrong-handle"),
				  .slow_us = slow(argc, argv, i) };

		if (!fork())
			return work(&r, argv[1], rounds);
	}
	until_all(s, &s->loaded, ranks);
	bad = __atomic_load_n(&s->failed, __ATOMIC_SEQ_CST);
	if (!bad && flag(argc, argv, "--wait")) {
		puts("waiting");
		fflush(stdout);
		if (read(0, &c, 1) < 1) /* standard input has ended, so nobody
					   can start the ranks */
			__atomic_store_n(&s->failed, 1, __ATOMIC_SEQ_CST);
	}
	__atomic_store_n(&s->begin, 1, __ATOMIC_SEQ_CST);
	/* last barrier: the connections are closed, unless with --open */
	until_all(s, &s->arrived[3], ranks);
	bad = __atomic_load_n(&s->failed, __ATOMIC_SEQ_CST);
	if (!bad)
		printf("%d ranks, %ld bytes, %d rounds of %d steps: every sum "
		       "is right\n",
		       ranks, bytes, rounds, 2 * (ranks - 1));
	if (hold_on) {
		puts(bad ? "failed" : "ready");
		fflush(stdout);
		while (read(0, &c, 1) > 0)
			;
	}
	__atomic_store_n(&s->release, 1, __ATOMIC_SEQ_CST);
	while (waitpid(-1, &status, 0) > 0)
		bad |= status != 0;
	return bad ? 1 : 0;
}
