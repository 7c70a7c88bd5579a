// SPDX-License-Identifier: MIT
// Ranks of a GIN collComm in one process, over libnccl-net-tcp.so.
#ifndef TEST_UNIT_GIN_RANKS_H
#define TEST_UNIT_GIN_RANKS_H

#include "test/unit/unit.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "plugin/tcp/gin.h"

enum { MOST_RANKS = 8, BYTES = 1 << 20, SIGNALS = 16 };

extern const struct nb_gin_extension ncclbpfGinExtension_v1;

/* The functions of plugin/tcp in a table, as a wrapped plugin's are. */

static int gin_init(void **ctx, uint64_t comm_id, nb_net_logger *logger)
{
	return nb_gin_init(NB_GIN_DATA, ctx, comm_id, logger, true);
}

static int gin_devices(int *n)
{
	return nb_gin_devices(NB_GIN_DATA, n);
}

static int gin_listen(void *ctx, int dev, void *handle, void **listen_comm)
{
	return nb_gin_listen(NB_GIN_DATA, ctx, dev, handle, listen_comm);
}

static int gin_progress(void *coll, void *ctx)
{
	(void)ctx;
	return nb_gin_progress(coll);
}

static int gin_query_error(void *coll, void *ctx, bool *failed)
{
	(void)ctx;
	return nb_gin_query_error(coll, failed);
}

static void gin_link(void *coll, uint32_t rank, struct nb_gin_link *link)
{
	ncclbpfGinExtension_v1.link(coll, rank, link);
}

static const struct nb_gin_ops gin_ops = {
	.init = gin_init,
	.finalize = nb_gin_finalize,
	.devices = gin_devices,
	.listen = gin_listen,
	.connect = nb_gin_connect,
	.reg_mr = nb_gin_reg_mr,
	.dereg_mr = nb_gin_dereg_mr,
	.close_coll = nb_gin_close_coll,
	.close_listen = nb_gin_close_listen,
	.progress = gin_progress,
	.query_error = gin_query_error,
	.link = gin_link,
};
static const struct nb_gin_ops *const t = &gin_ops;

struct rank {
	void *ctx, *listener, *coll, *window, *signals;
	char handle[NB_NET_HANDLE];
	int rank, nranks, rc;
	char *data;
	uint64_t *signal; /* SIGNALS of them */
	/* of the last arrival */
	struct nb_gin_arrival last;
	unsigned arrivals;
};

static struct rank ranks[MOST_RANKS];
static void *handles[MOST_RANKS];
static pthread_mutex_t said_lock = PTHREAD_MUTEX_INITIALIZER;
static char said[8192];

static void hear(bool warn, const char *line)
{
	size_t at;

	(void)warn;
	pthread_mutex_lock(&said_lock);
	at = strlen(said);
	snprintf(said + at, sizeof(said) - at, "%s\n", line);
	pthread_mutex_unlock(&said_lock);
}

static void arrived(void *arg, const struct nb_gin_arrival *a)
{
	struct rank *r = arg;

	r->last = *a;
	r->arrivals++;
}

static void rank_listen(struct rank *r)
{
	ck_assert_int_eq(t->init(&r->ctx, 7, NULL), 0);
	ck_assert_int_eq(t->listen(r->ctx, 0, r->handle, &r->listener), 0);
}

static void *rank_connect(void *arg)
{
	struct rank *r = arg;
	struct nb_gin_mesh m = { .ctx = r->ctx,
				 .handles = handles,
				 .nranks = r->nranks,
				 .rank = r->rank,
				 .traffic_class = NB_NET_CLASS_NONE,
				 .listen_comm = r->listener,
				 .arrived = arrived,
				 .arg = r };

	r->rc = t->connect(&m, &r->coll);
	return NULL;
}

static void *registered(struct rank *r, void *data, size_t size)
{
	struct nb_gin_memory m = { .data = data, .size = size, .type = NB_NET_CUDA_MEMORY };
	void *mh = NULL, *gh = NULL;

	ck_assert_int_eq(t->reg_mr(r->coll, &m, &mh, &gh), 0);
	ck_assert_ptr_nonnull(mh);
	ck_assert_ptr_eq(mh, gh);
	return mh;
}

static void rank_register(struct rank *r)
{
	r->data = calloc(1, BYTES);
	r->signal = calloc(SIGNALS, sizeof(*r->signal));
	r->signals = registered(r, r->signal, SIGNALS * sizeof(*r->signal));
	r->window = registered(r, r->data, BYTES);
}

/* @n ranks that listen; false: there is no loopback interface. */
static void ranks_listen(int n)
{
	int devices = 0;

	setenv("NCCL_SOCKET_IFNAME", "lo", 1);
	setenv("NCCL_GIN_PLUGIN", "tcp", 1);
	t->devices(&devices);
	ck_assert_msg(devices > 0, "the interface lo is not up");
	memset(ranks, 0, sizeof(ranks));
	said[0] = '\0';
	nb_tcp_conf.say = hear;
	for (int i = 0; i < n; i++) {
		ranks[i].rank = i;
		ranks[i].nranks = n;
		rank_listen(&ranks[i]);
		handles[i] = ranks[i].handle;
	}
}

static void ranks_connect(int from, int n)
{
	pthread_t thread[MOST_RANKS];

	for (int i = from; i < n; i++)
		pthread_create(&thread[i], NULL, rank_connect, &ranks[i]);
	for (int i = from; i < n; i++)
		pthread_join(thread[i], NULL);
}

static __attribute__((unused)) void ranks_open(int n)
{
	ranks_listen(n);
	ranks_connect(0, n);
	for (int i = 0; i < n; i++) {
		ck_assert_int_eq(ranks[i].rc, 0);
		rank_register(&ranks[i]);
	}
}

static void rank_close(struct rank *r)
{
	t->close_coll(r->coll);
	t->close_listen(r->listener);
	t->finalize(r->ctx);
	free(r->data);
	free(r->signal);
}

static __attribute__((unused)) void ranks_close(int n)
{
	for (int i = 0; i < n; i++)
		rank_close(&ranks[i]);
}

/* One turn of each rank. */
static __attribute__((unused)) void turn(int n)
{
	for (int i = 0; i < n; i++)
		t->progress(ranks[i].coll, NULL);
}

static __attribute__((unused)) int post_put(struct rank *r, struct nb_gin_message *o, uint32_t to,
					    size_t from_off, size_t to_off, size_t size)
{
	*o = (struct nb_gin_message){ .kind = NB_GIN_PUT,
				      .rank = to,
				      .src = size ? r->window : NULL,
				      .dst = size ? r->window : NULL,
				      .src_off = from_off,
				      .dst_off = to_off,
				      .size = size };
	return nb_gin_tcp_post(r->coll, o);
}

/* A put with a signal; size 0: the signal alone. */
static __attribute__((unused)) int post_signal(struct rank *r, struct nb_gin_message *o,
					       uint32_t to, size_t size, size_t to_off,
					       unsigned signal, uint64_t add)
{
	*o = (struct nb_gin_message){ .kind = NB_GIN_SIGNAL,
				      .rank = to,
				      .src = size ? r->window : NULL,
				      .dst = size ? r->window : NULL,
				      .dst_off = to_off,
				      .size = size,
				      .signal = r->signals,
				      .signal_off = signal * 8,
				      .signal_op = add ? NB_GIN_ADD : NB_GIN_INCREMENT,
				      .value = add };
	return nb_gin_tcp_post(r->coll, o);
}

static __attribute__((unused)) uint64_t read_signal(const struct rank *r, unsigned i)
{
	return __atomic_load_n(&r->signal[i], __ATOMIC_ACQUIRE);
}

#endif
