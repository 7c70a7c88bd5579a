// SPDX-License-Identifier: MIT
// tier: quick  load: cpu  limit: 600
// NCCL 2.31 runs up to four progress threads, each with its own collComms. Two
// ranks have four collComms and a thread for each. Meanwhile other threads
// register and deregister windows, create and destroy contexts, and read the
// counters. Every byte, signal and count is exact.
#include "test/unit/unit.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "core/bpf/map/ops.h"
#include "plugin/abi/gin_abi.h"
#include "plugin/gin/list.h"
#include "plugin/policies/maps.h"
#include "plugin/profiler/events.h"
#include "plugin/profiler/mask.h"
#include "plugin/runtime/lock.h"

enum { THREADS = 4, ROUNDS = 300, SLOT = 2048, WINDOW = 1 << 20, LATE = 40 };

static const struct nb_gin_table *const t = &ncclRmaPlugin_v15;

/* A rank's collComm: what one progress thread owns. */
struct coll {
	struct rank *owner;
	int number;
	void *listener, *coll, *ctx, *window, *signals;
	char handle[NB_NET_HANDLE];
	int failed; /* source line of the first failed check, or 0 */
};

struct rank {
	int rank;
	void *instance;
	/* as in NCCL, all collComms have the same windows */
	unsigned char data[WINDOW];
	uint64_t signal[THREADS];
	struct coll of[THREADS];
};

static struct rank ranks[2];
static pthread_barrier_t barrier;
static unsigned ended; /* threads whose gets are done */
static bool stop;

#define NEED(c, x)                              \
	do {                                    \
		if (!(x) && !(c)->failed)       \
			(c)->failed = __LINE__; \
	} while (0)

static void set_up(void)
{
	const char *b = getenv("B");
	char policy[256];

	snprintf(policy, sizeof(policy), "%s/policies/gin_peers.policy:%s/policies/gin_slow.policy",
		 b ? b : "build/debug", b ? b : "build/debug");
	setenv("NCCLBPF_POLICY", policy, 1);
	setenv("NCCLBPF_CONTROL", "off", 1);
	setenv("NCCLBPF_JOB", "test_gin_threads", 1);
	setenv("NCCLBPF_GIN", "on", 1);
	setenv("NCCL_SOCKET_IFNAME", "lo", 1);
}

static void listen_all(struct rank *r, int rank)
{
	int n = 0;

	memset(r, 0, sizeof(*r));
	r->rank = rank;
	ck_assert_int_eq(t->init(&r->instance, 31, NULL), 0);
	ck_assert_int_eq(t->devices(&n), 0);
	ck_assert_int_gt(n, 0);
	for (int i = 0; i < THREADS; i++) {
		struct coll *c = &r->of[i];

		c->owner = r;
		c->number = i;
		ck_assert_int_eq(t->listen(r->instance, 0, c->handle, &c->listener), 0);
	}
}

static void *connect_all(void *arg)
{
	struct rank *r = arg;
	struct nb_rma_config k = { 1, -1, 0 };

	for (int i = 0; i < THREADS; i++) {
		struct coll *c = &r->of[i];
		void *handles[2] = { ranks[0].of[i].handle, ranks[1].of[i].handle };

		NEED(c, !t->connect.v11(r->instance, handles, 2, r->rank, c->listener, &c->coll));
		NEED(c, !t->create_context.rma_v14(c->coll, &k, &c->ctx));
		NEED(c,
		     !t->reg_mr.rma_v14(c->coll, r->signal, sizeof(r->signal), 2, 1, &c->signals));
		NEED(c, !t->reg_mr.rma_v14(c->coll, r->data, WINDOW, 2, 0, &c->window));
	}
	return NULL;
}

static void finish(struct coll *c, void *req)
{
	int done = 0;

	NEED(c, req != NULL);
	while (!done && !c->failed) {
		NEED(c, !t->test(c->coll, req, &done));
		NEED(c, !t->progress(c->ctx));
		if (!done)
			sched_yield();
	}
}

/* Where thread @number writes in round @i, on the sender and on the target. */
static size_t source(int number)
{
	return (size_t)number * SLOT;
}

static size_t target(int number, int i)
{
	return (size_t)(64 + number * 64 + i % 64) * SLOT;
}

static unsigned char pattern(const struct rank *r, int number, int i)
{
	return (unsigned char)(1 + i * 8 + r->rank * 4 + number);
}

/* One round: put with a signal to the peer, then wait for the peer's. */
static void talk(struct coll *c, int i)
{
	struct rank *r = c->owner;
	const struct rank *peer = &ranks[!r->rank];
	unsigned char *at = r->data + target(c->number, i);
	void *req = NULL;

	memset(r->data + source(c->number), pattern(r, c->number, i), SLOT);
	NEED(c,
	     !t->iput_signal.rma_v15(c->ctx, 0, source(c->number), c->window, SLOT,
				     target(c->number, i), c->window, (uint32_t)!r->rank,
				     8 * (uint64_t)c->number, c->signals, 1, 2, true, i & 1, &req));
	finish(c, req);
	while (!c->failed &&
	       __atomic_load_n(&r->signal[c->number], __ATOMIC_ACQUIRE) <= (uint64_t)i) {
		NEED(c, !t->progress(c->ctx));
		sched_yield();
	}
	for (int k = 0; k < SLOT; k++)
		NEED(c, at[k] == pattern(peer, c->number, i));
}

/* Read back what this thread put last, and serve the peer's get. */
static void read_back(struct coll *c)
{
	struct rank *r = c->owner;
	size_t own = target(THREADS, c->number);
	void *req = NULL;

	NEED(c, !t->iget.rma_v15(c->ctx, 0, target(c->number, ROUNDS - 1), c->window, SLOT, own,
				 c->window, (uint32_t)!r->rank, 0, &req));
	finish(c, req);
	for (int k = 0; k < SLOT; k++)
		NEED(c, r->data[own + (size_t)k] == pattern(r, c->number, ROUNDS - 1));
	__atomic_add_fetch(&ended, 1, __ATOMIC_ACQ_REL);
	while (__atomic_load_n(&ended, __ATOMIC_ACQUIRE) < 2 * THREADS) {
		NEED(c, !t->progress(c->ctx));
		sched_yield();
	}
}

static void *progress_thread(void *arg)
{
	struct coll *c = arg;

	pthread_barrier_wait(&barrier);
	for (int i = 0; i < ROUNDS && !c->failed; i++)
		talk(c, i);
	read_back(c);
	return NULL;
}

/* The user's thread: windows and device communicators come and go, on all
 * collComms. Returns the line of a surprise, or 0. */
static int come_and_go(void)
{
	static char window[2][THREADS][64];
	struct nb_rma_config k = { 2, -1, 0 };
	void *mh[2][THREADS], *ctx;
	bool failed = true;
	int bad = 0;

	for (int r = 0; r < 2; r++)
		for (int i = 0; i < THREADS; i++) {
			struct coll *c = &ranks[r].of[i];

			bad |= t->reg_mr.rma_v14(c->coll, window[r][i], 64, 2, 0, &mh[r][i]);
			bad |= t->create_context.rma_v14(c->coll, &k, &ctx);
			bad |= t->query_last_error(ctx, &failed) || failed;
			bad |= t->destroy_context(ctx);
		}
	for (int r = 0; r < 2; r++)
		for (int i = 0; i < THREADS; i++)
			bad |= t->dereg_mr(ranks[r].of[i].coll, mh[r][i]);
	return bad ? __LINE__ : 0;
}

static bool count_coll(const struct nb_gin_coll *c, void *arg)
{
	(void)c;
	++*(unsigned *)arg;
	return true;
}

/* The control thread: reads counters, turns measuring on and off. */
static void *control_thread(void *arg)
{
	struct nb_gin_sums s;

	for (unsigned i = 0; !__atomic_load_n(&stop, __ATOMIC_ACQUIRE); i++) {
		unsigned n = 0;

		nb_events_telemetry(i & 1 ? NB_TEL_ON : 0);
		nb_gin_list_sums(&s);
		nb_gin_list_each(count_coll, &n);
		if (n != 2 * THREADS || s.errors || s.broken)
			*(int *)arg = __LINE__;
		sched_yield();
	}
	return NULL;
}

/* As in policies/gin_peers.bpf.c. */
struct peers_key {
	uint64_t comm_id;
	uint32_t rank, peer, context, pad;
};

static uint64_t puts_counted(uint32_t rank)
{
	struct peers_key key = { 31, rank, !rank, 0, 0 };
	struct nb_map_ref ref;
	struct nb_err err;
	const uint64_t *value;

	nb_lock(NB_LOCK_STATE);
	ck_assert_int_eq(nb_held_map_find("gin_peers", &ref, &err), 0);
	value = nb_map_lookup(ref.object, &key, 0);
	nb_unlock(NB_LOCK_STATE);
	ck_assert_ptr_nonnull(value);
	return *value;
}

static void close_all(struct rank *r)
{
	for (int i = 0; i < THREADS; i++) {
		struct coll *c = &r->of[i];

		ck_assert_int_eq(t->dereg_mr(c->coll, c->window), 0);
		ck_assert_int_eq(t->dereg_mr(c->coll, c->signals), 0);
		ck_assert_int_eq(t->destroy_context(c->ctx), 0);
		ck_assert_int_eq(t->close_coll(c->coll), 0);
		ck_assert_int_eq(t->close_listen(c->listener), 0);
	}
	ck_assert_int_eq(t->finalize(r->instance), 0);
}

static void check_ends(void)
{
	struct nb_gin_sums s;

	for (int r = 0; r < 2; r++)
		for (int i = 0; i < THREADS; i++) {
			ck_assert_msg(!ranks[r].of[i].failed, "rank %d, thread %d: line %d", r, i,
				      ranks[r].of[i].failed);
			ck_assert_uint_eq(ranks[r].signal[i], ROUNDS);
		}
	nb_gin_list_sums(&s);
	ck_assert_uint_eq(s.puts, 2 * THREADS * ROUNDS);
	ck_assert_uint_eq(s.signals, 2 * THREADS * ROUNDS);
	ck_assert_uint_eq(s.in_bytes, 2ull * THREADS * ROUNDS * SLOT);
	ck_assert_uint_eq(s.gets, 2 * THREADS);
	ck_assert_uint_eq(s.errors, 0);
	for (uint32_t r = 0; r < 2; r++)
		ck_assert_uint_eq(puts_counted(r), THREADS * ROUNDS);
}

TEST(four_progress_threads_of_each_rank)
{
	pthread_t thread[2][THREADS], other, control;
	int seen = 0;

	set_up();
	for (int r = 0; r < 2; r++)
		listen_all(&ranks[r], r);
	ck_assert_int_eq(pthread_create(&other, NULL, connect_all, &ranks[1]), 0);
	connect_all(&ranks[0]);
	pthread_join(other, NULL);
	pthread_barrier_init(&barrier, NULL, 2 * THREADS + 1);
	for (int r = 0; r < 2; r++)
		for (int i = 0; i < THREADS; i++)
			ck_assert_int_eq(pthread_create(&thread[r][i], NULL, progress_thread,
							&ranks[r].of[i]),
					 0);
	ck_assert_int_eq(pthread_create(&control, NULL, control_thread, &seen), 0);
	pthread_barrier_wait(&barrier);
	for (int i = 0; i < LATE; i++)
		ck_assert_int_eq(come_and_go(), 0);
	for (int r = 0; r < 2; r++)
		for (int i = 0; i < THREADS; i++)
			pthread_join(thread[r][i], NULL);
	__atomic_store_n(&stop, true, __ATOMIC_RELEASE);
	pthread_join(control, NULL);
	ck_assert_int_eq(seen, 0);
	check_ends();
	for (int r = 0; r < 2; r++)
		close_all(&ranks[r]);
}

// clang-format off
UNIT_MAIN("gin_threads")
