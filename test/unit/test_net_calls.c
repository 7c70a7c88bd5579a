// SPDX-License-Identifier: MIT
// tier: quick  load: cpu  limit: 600
// The net plugin as NCCL calls it, in one process: what is counted, who is
// listed, and what a fork and readers beside coming and going ranks find.
#include "plugin/net/net.h"
#include "test/unit/unit.h"

#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "plugin/net/list.h"
#include "plugin/process/process.h"

static void set_up(void)
{
	setenv("NCCLBPF_CONTROL", "off", 1);
	setenv("NCCLBPF_JOB", "test_net_calls", 1);
	setenv("NCCL_NET_PLUGIN", "libncclbpf.so", 1);
	setenv("NCCL_SOCKET_IFNAME", "lo", 1);
}

static void *open_net(void)
{
	struct nb_net_init init = { .comm_id = 7, .traffic_class = NB_NET_CLASS_NONE };
	void *ctx = NULL;
	int n = 0;

	set_up();
	ck_assert_int_eq(nb_net_init(&ctx, &init, nb_process_ready(NULL)), 0);
	ck_assert_int_eq(nb_net_devices(&n), 0);
	return n ? ctx : NULL; /* no loopback in this container */
}

struct pair {
	void *send, *recv;
};

static void connect_pair(void *ctx, struct pair *p)
{
	char handle[NB_NET_HANDLE];
	void *l = NULL;

	p->send = p->recv = NULL;
	ck_assert_int_eq(nb_net_listen(ctx, 0, handle, &l), 0);
	while (!p->send || !p->recv) {
		if (!p->send)
			ck_assert_int_eq(
				nb_net_connect(ctx, 0, NB_NET_CLASS_NONE, handle, &p->send, NULL),
				0);
		if (!p->recv)
			ck_assert_int_eq(nb_net_accept(l, &p->recv, NULL), 0);
	}
	ck_assert_int_eq(nb_net_close_listen(l), 0);
}

static void close_pair(struct pair *p)
{
	ck_assert_int_eq(nb_net_close_send(p->send), 0);
	ck_assert_int_eq(nb_net_close_recv(p->recv), 0);
}

static void move(struct pair *p, size_t size)
{
	char from[1024] = "x", to[1024] = "";
	void *data = to, *mh = p, *send = NULL, *recv = NULL;
	int tag = 1, sent = 0, got = 0;

	ck_assert_int_eq(nb_net_irecv(p->recv, 1, &data, &size, &tag, &mh, NULL, &recv), 0);
	ck_assert_int_eq(nb_net_isend(p->send, from, size, tag, mh, NULL, &send), 0);
	while (!sent || !got) {
		if (!sent)
			ck_assert_int_eq(nb_net_test(send, &sent, NULL), 0);
		if (!got)
			ck_assert_int_eq(nb_net_test(recv, &got, NULL), 0);
	}
}

static bool count(const struct nb_net_conn *c, void *arg)
{
	ck_assert_uint_gt(c->id, 0);
	return ++*(int *)arg < 1000;
}

static int listed(void)
{
	int n = 0;

	nb_net_list_each(count, &n);
	return n;
}

TEST(what_moves_is_counted_and_stays_counted)
{
	void *ctx = open_net();
	struct nb_net_sums s;
	struct pair p;
	int devices;

	if (!ctx)
		return;
	ck_assert_str_eq(nb_net_used(&devices), "tcp");
	ck_assert_int_ge(devices, 1);
	connect_pair(ctx, &p);
	ck_assert_int_eq(listed(), 2);
	move(&p, 1000);
	move(&p, 0);
	nb_net_list_sums(&s);
	ck_assert_uint_eq(s.live[NB_NET_SEND], 1);
	ck_assert_uint_eq(s.live[NB_NET_LISTENER], 0);
	ck_assert_uint_eq(s.opened[NB_NET_LISTENER], 1);
	ck_assert_uint_eq(s.requests[NB_NET_SEND], 2);
	ck_assert_uint_eq(s.bytes[NB_NET_SEND], 1000);
	ck_assert_uint_eq(s.bytes[NB_NET_RECV], 1000);
	close_pair(&p);
	ck_assert_int_eq(listed(), 0);
	nb_net_list_sums(&s);
	ck_assert_uint_eq(s.live[NB_NET_RECV], 0);
	ck_assert_uint_eq(s.requests[NB_NET_RECV], 2);
	ck_assert_uint_eq(s.bytes[NB_NET_SEND], 1000);
	ck_assert_uint_eq(s.errors, 0);
	nb_net_finalize(ctx);
}

static int inits;

static int init_again(void **ctx, const struct nb_net_init *init)
{
	(void)init;
	inits++;
	*ctx = &inits;
	return NB_NET_OK;
}

/* The wrapped plugin's context is used until the process ends. */
TEST(nccl_without_contexts_has_one)
{
	struct nb_net_init init = { .traffic_class = NB_NET_CLASS_NONE };
	struct nb_net_ops *ops;
	void *ctx = NULL;

	set_up();
	ck_assert_int_eq(nb_net_init(NULL, &init, nb_process_ready(NULL)), 0);
	ops = (struct nb_net_ops *)(uintptr_t)nb_net_ops_used();
	if (!ops)
		return; /* no loopback in this container */
	ops->init = init_again;
	ck_assert_int_eq(nb_net_init(NULL, &init, true), 0);
	ck_assert_int_eq(inits, 0);
	/* later versions have one for each communicator */
	ck_assert_int_eq(nb_net_init(&ctx, &init, true), 0);
	ck_assert_int_eq(inits, 1);
	ops->finalize = NULL;
	ck_assert_int_eq(nb_net_finalize(ctx), 0);
}

TEST(errors_are_counted)
{
	void *ctx = open_net();
	struct nb_net_sums s;
	void *data = &s, *mh = &s, *recv = NULL;
	size_t size = 8;
	struct pair p;
	int tag = 1, done = 0;

	if (!ctx)
		return;
	connect_pair(ctx, &p);
	ck_assert_int_eq(nb_net_irecv(p.recv, 1, &data, &size, &tag, &mh, NULL, &recv), 0);
	ck_assert_int_eq(nb_net_close_send(p.send), 0);
	while (!nb_net_test(recv, &done, NULL))
		ck_assert_int_eq(done, 0);
	nb_net_list_sums(&s);
	ck_assert_uint_eq(s.errors, 1);
	ck_assert_uint_eq(nb_net_counted(NB_NET_LOST), 1);
	ck_assert_int_eq(nb_net_close_recv(p.recv), 0);
	nb_net_list_sums(&s);
	ck_assert_uint_eq(s.errors, 1);
	nb_net_finalize(ctx);
}

/* The child has none of the parent's connections, and makes its own. */
TEST(a_fork_begins_anew)
{
	void *ctx = open_net();
	struct nb_net_sums s;
	struct pair p, own;
	int status = -1;
	pid_t pid;

	if (!ctx)
		return;
	connect_pair(ctx, &p);
	pid = fork();
	if (!pid) {
		alarm(600);
		ck_assert_int_eq(listed(), 0);
		close_pair(&p); /* copies: they take nobody off a list */
		ctx = open_net();
		connect_pair(ctx, &own);
		move(&own, 10);
		nb_net_list_sums(&s);
		_exit(listed() == 2 && s.opened[NB_NET_SEND] == 1 ? 0 : 1);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	ck_assert_int_eq(listed(), 2);
	move(&p, 10);
	close_pair(&p);
	nb_net_finalize(ctx);
}

static bool stop; /* atomic */

static void *reader(void *arg)
{
	struct nb_net_sums s;

	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		nb_net_list_sums(&s);
		ck_assert_int_le(listed(), 12);
	}
	return arg;
}

static void *churn(void *ctx)
{
	for (int i = 0; i < 30; i++) {
		struct pair p;

		connect_pair(ctx, &p);
		move(&p, (size_t)i);
		close_pair(&p);
	}
	return NULL;
}

TEST(readers_beside_ranks_that_come_and_go)
{
	void *ctx = open_net();
	struct nb_net_sums s;
	pthread_t t[4], r;

	if (!ctx)
		return;
	ck_assert_int_eq(pthread_create(&r, NULL, reader, NULL), 0);
	for (int i = 0; i < 4; i++)
		ck_assert_int_eq(pthread_create(&t[i], NULL, churn, ctx), 0);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	pthread_join(r, NULL);
	nb_net_list_sums(&s);
	ck_assert_uint_eq(s.opened[NB_NET_SEND], 120);
	ck_assert_uint_eq(s.requests[NB_NET_RECV], 120);
	ck_assert_uint_eq(s.bytes[NB_NET_SEND], 4 * 30 * 29 / 2);
	ck_assert_int_eq(listed(), 0);
	nb_net_finalize(ctx);
}

UNIT_MAIN("net calls")
