// SPDX-License-Identifier: MIT
// tier: quick  load: cpu  limit: 600
// libnccl-net-tcp.so from both ends: connections that come to be, strangers,
// peers that close in the middle, send garbage or stall, and messages of all
// sizes. Nothing here measures time: what takes some is waited for.
#include "test/unit/unit.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "plugin/tcp/join.h"
#include "test/fakes/host/tcp_ops.h"

extern const struct nb_net_extension ncclbpfNetExtension_v1;
static const struct nb_net_ops *const t = &tcp_ops;
static char said[4096];
static int lines;

static void hear(bool warn, const char *line)
{
	size_t at = strlen(said);

	(void)warn;
	snprintf(said + at, sizeof(said) - at, "%s\n", line);
	lines++;
}

static void *ctx, *listener;
static char handle[NB_NET_HANDLE];

/* Open the listener. False: there is no loopback interface to test with. */
static bool set_up(void)
{
	struct nb_net_init init = { 1, NB_NET_CLASS_NONE, NULL, NULL };
	int n = 0;

	setenv("NCCL_SOCKET_IFNAME", "lo", 1);
	ck_assert_int_eq(t->init(&ctx, &init), 0);
	ck_assert_int_eq(t->devices(&n), 0);
	if (!n)
		return false;
	nb_tcp_conf.say = hear;
	ck_assert_int_eq(t->listen(ctx, 0, handle, &listener), 0);
	return true;
}

static void tear_down(void)
{
	t->close_listen(listener);
	t->finalize(ctx);
}

/* A socket that is connected to the listener and is no transport. */
static int stranger(void)
{
	const struct nb_tcp_handle *h = (const void *)handle;
	union nb_tcp_addr a = { .any.sa_family = h->family };
	int fd = socket(h->family, SOCK_STREAM, 0);

	if (h->family == AF_INET6) {
		a.v6.sin6_port = h->port;
		memcpy(&a.v6.sin6_addr, h->addr, 16);
	} else {
		a.v4.sin_port = h->port;
		memcpy(&a.v4.sin_addr, h->addr, 4);
	}
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(connect(fd, &a.any, nb_tcp_addr_size(&a)), 0);
	return fd;
}

static void put(int fd, const void *bytes, size_t n)
{
	ck_assert_int_eq(send(fd, bytes, n, MSG_NOSIGNAL), (ssize_t)n);
}

static void put_hello(int fd)
{
	const struct nb_tcp_handle *h = (const void *)handle;
	struct nb_tcp_hello hello = { .magic = NB_TCP_HELLO_MAGIC,
				      .cookie = h->cookie,
				      .link = 5,
				      .version = NB_TCP_VERSION };

	put(fd, &hello, sizeof(hello));
}

static void put_head(int fd, uint64_t size, uint32_t number)
{
	struct nb_tcp_head head = { size, number, NB_TCP_HEAD_MAGIC };

	put(fd, &head, sizeof(head));
}

static void *accepted(void)
{
	void *comm = NULL;

	while (!comm)
		ck_assert_int_eq(t->accept(listener, &comm, NULL), 0);
	return comm;
}

static void pair_up(void **send, void **recv)
{
	char h[NB_NET_HANDLE];

	memcpy(h, handle, sizeof(h));
	*send = *recv = NULL;
	while (!*send || !*recv) {
		if (!*send)
			ck_assert_int_eq(t->connect(ctx, 0, -1, h, send, NULL), 0);
		if (!*recv)
			ck_assert_int_eq(t->accept(listener, recv, NULL), 0);
	}
}

static void *post_recv(void *comm, void *data, size_t size)
{
	void *req = NULL;

	ck_assert_int_eq(t->irecv(comm, 1, &data, &size, NULL, NULL, NULL, &req), 0);
	return req;
}

static void *post_send(void *comm, void *data, size_t size)
{
	void *req = NULL;

	ck_assert_int_eq(t->isend(comm, data, size, 0, NULL, NULL, &req), 0);
	return req;
}

/* Ask until it is done or fails. */
static int finish(void *req, int *size)
{
	int done = 0, rc = 0;

	while (!rc && !done)
		rc = t->test(req, &done, size);
	return rc;
}

TEST(messages_of_all_sizes_arrive_in_order)
{
	static const size_t sizes[] = { 0, 1, 15, 16, 17, 4080, 4096, 4097, 1 << 20, 0 };
	enum { N = sizeof(sizes) / sizeof(sizes[0]) };
	static char from[N][1 << 20], to[N][1 << 20];
	void *send, *recv, *s[N], *r[N];
	int left = 2 * N;

	if (!set_up())
		return;
	pair_up(&send, &recv);
	for (int round = 0; round < 20; round++) {
		left = 2 * N;
		for (int i = 0; i < N; i++) {
			memset(from[i], i + round, sizes[i]);
			r[i] = post_recv(recv, to[i], sizeof(to[i]));
			s[i] = post_send(send, from[i], sizes[i]);
		}
		while (left)
			for (int i = 0; i < N; i++) {
				int done = 0, size = -1;

				if (s[i])
					ck_assert_int_eq(t->test(s[i], &done, NULL), 0);
				left -= done;
				s[i] = done ? NULL : s[i];
				done = 0;
				if (r[i])
					ck_assert_int_eq(t->test(r[i], &done, &size), 0);
				if (!done)
					continue;
				left--;
				r[i] = NULL;
				ck_assert_int_eq(size, (int)sizes[i]);
				ck_assert_mem_eq(from[i], to[i], sizes[i] + 1 - !!sizes[i]);
			}
	}
	t->close_send(send);
	t->close_recv(recv);
	tear_down();
	ck_assert_str_eq(strstr(said, "broken") ? said : "", "");
}

TEST(a_full_connection_says_try_again)
{
	char byte = 1;
	void *send, *recv, *req[100];
	int n = 0, size;

	if (!set_up())
		return;
	pair_up(&send, &recv);
	while (n < 100 && (req[n] = post_recv(recv, &byte, 1)))
		n++;
	ck_assert_int_ge(n, 32); /* NCCL's bound */
	ck_assert_int_lt(n, 100);
	ck_assert_ptr_null(post_recv(recv, &byte, 1));
	for (int i = 0; i < n; i++) {
		ck_assert_int_eq(finish(post_send(send, &byte, 1), NULL), 0);
		ck_assert_int_eq(finish(req[i], &size), 0);
	}
	ck_assert_ptr_nonnull(post_recv(recv, &byte, 1));
	t->close_send(send);
	t->close_recv(recv); /* with a request that waits */
	tear_down();
}

/* Strangers of every kind come first; the peer gets in all the same. */
TEST(strangers_delay_nobody)
{
	struct nb_tcp_hello bad = {
		.magic = NB_TCP_HELLO_MAGIC, .cookie = 1, .link = 2, .version = NB_TCP_VERSION
	};
	const struct nb_tcp_handle *h = (const void *)handle;
	void *send, *recv;
	int fd[6];

	if (!set_up())
		return;
	for (int i = 0; i < 6; i++)
		fd[i] = stranger();
	put(fd[0], "GET / HTTP/1.1\r\nHost: localhost:12345\r\n\r\n", 41);
	put(fd[1], &bad, sizeof(bad));	   /* another cookie */
	put(fd[2], &bad, sizeof(bad) - 1); /* not all of it */
	close(fd[3]);			   /* gone again */
	bad.cookie = h->cookie;
	bad.version = 99;
	put(fd[4], &bad, sizeof(bad));
	/* fd[5] says nothing */
	pair_up(&send, &recv);
	while (nb_tcp_counted(NB_NET_STRANGERS) < 4) {
		void *none = NULL;

		ck_assert_int_eq(t->accept(listener, &none, NULL), 0);
		ck_assert_ptr_null(none);
	}
	nb_tcp_conf.hello_ns = 1;
	while (nb_tcp_counted(NB_NET_LATE) < 2) {
		void *none = NULL;

		ck_assert_int_eq(t->accept(listener, &none, NULL), 0);
		ck_assert_ptr_null(none);
	}
	ck_assert_int_eq(lines, 2); /* once a kind */
	t->close_send(send);
	t->close_recv(recv);
	tear_down();
}

TEST(a_flood_of_silent_strangers_does_not_shut_the_peer_out)
{
	void *send, *recv;
	int fd[200];

	if (!set_up())
		return;
	nb_tcp_conf.patience_ns = 1000000;
	for (int i = 0; i < 200; i++) {
		void *none = NULL;

		fd[i] = stranger();
		ck_assert_int_eq(t->accept(listener, &none, NULL), 0);
	}
	pair_up(&send, &recv);
	ck_assert_uint_ge(nb_tcp_counted(NB_NET_LATE), 1);
	for (int i = 0; i < 200; i++)
		close(fd[i]);
	t->close_send(send);
	t->close_recv(recv);
	tear_down();
}

TEST(a_peer_that_closes_in_a_message_is_a_remote_error)
{
	char data[100], text[100];
	void *recv, *first, *second;
	int fd, size, done;

	if (!set_up())
		return;
	fd = stranger();
	put_hello(fd);
	recv = accepted();
	first = post_recv(recv, data, sizeof(data));
	second = post_recv(recv, text, sizeof(text));
	put_head(fd, 3, 0);
	put(fd, "abc", 3);
	put_head(fd, 50, 1);
	put(fd, "half", 4);
	close(fd);
	ck_assert_int_eq(finish(second, &size), NB_NET_REMOTE);
	/* what had come is good; the rest says the same again */
	ck_assert_int_eq(finish(first, &size), 0);
	ck_assert_int_eq(size, 3);
	ck_assert_mem_eq(data, "abc", 3);
	ck_assert_int_eq(t->test(second, &done, &size), NB_NET_REMOTE);
	ck_assert_int_eq(done, 0);
	ck_assert_uint_eq(nb_tcp_counted(NB_NET_LOST), 1);
	ck_assert_ptr_nonnull(strstr(said, "after 1 messages and 4 bytes"));
	ck_assert_int_eq(lines, 1);
	t->close_recv(recv);
	tear_down();
}

TEST(sending_to_a_peer_that_is_gone_is_a_remote_error)
{
	static char data[1 << 20];
	void *send, *recv;
	int rc = 0;

	if (!set_up())
		return;
	pair_up(&send, &recv);
	t->close_recv(recv);
	for (int i = 0; i < 1000 && !rc; i++) {
		void *req = NULL;

		rc = t->isend(send, data, sizeof(data), 0, NULL, NULL, &req);
		if (!rc && req)
			rc = finish(req, NULL);
	}
	ck_assert_int_eq(rc, NB_NET_REMOTE);
	t->close_send(send);
	tear_down();
}

/* A receive of 64 bytes whose sender is a stranger that has said hello: its socket. */
static int receive_of_stranger(void **recv, void **req)
{
	static char data[64];
	int fd = stranger();

	put_hello(fd);
	*recv = accepted();
	*req = post_recv(*recv, data, sizeof(data));
	return fd;
}

/* What the stranger sent, its end included, is no message. */
static void refused_of_stranger(int fd, void *recv, void *req)
{
	ck_assert_int_eq(finish(req, NULL), NB_NET_REMOTE);
	close(fd);
	t->close_recv(recv);
	tear_down();
}

TEST(a_peer_that_closes_between_messages_too)
{
	void *recv, *req;
	int fd;

	if (!set_up())
		return;
	fd = receive_of_stranger(&recv, &req);
	shutdown(fd, SHUT_WR); /* half closed: nothing will come */
	refused_of_stranger(fd, recv, req);
}

TEST(garbage_in_place_of_a_header_is_a_remote_error)
{
	void *recv, *req;
	int fd;

	if (!set_up())
		return;
	fd = receive_of_stranger(&recv, &req);
	put(fd, "0123456789abcdef0123456789", 26);
	refused_of_stranger(fd, recv, req);
	ck_assert_ptr_nonnull(strstr(said, "not a message header"));
}

/* A message that was lost or came twice. */
TEST_EACH(a_message_of_another_number_is_a_remote_error, 1, 4)
{
	void *recv, *req;
	int fd;

	if (!set_up())
		return;
	fd = receive_of_stranger(&recv, &req);
	put_head(fd, 3, (uint32_t)_i);
	put(fd, "abc", 3);
	refused_of_stranger(fd, recv, req);
}

TEST(more_than_was_posted_is_named)
{
	char data[64], guard[8] = "guarded";
	void *send, *recv, *req;

	if (!set_up())
		return;
	pair_up(&send, &recv);
	req = post_recv(recv, data, 10);
	post_send(send, data, 11);
	ck_assert_int_eq(finish(req, NULL), NB_NET_USAGE);
	ck_assert_ptr_nonnull(strstr(said, "a message has 11 bytes, but the buffer has 10"));
	ck_assert_str_eq(guard, "guarded");
	t->close_send(send);
	t->close_recv(recv);
	tear_down();
}

TEST(a_stall_is_said_once_and_waited_for)
{
	void *recv, *req;
	int fd, size, done = 0;

	if (!set_up())
		return;
	nb_tcp_conf.stall_ns = 1;
	fd = receive_of_stranger(&recv, &req);
	put_head(fd, 4, 0);
	while (!nb_tcp_counted(NB_NET_STALLS))
		ck_assert_int_eq(t->test(req, &done, &size), 0);
	for (int i = 0; i < 5000; i++)
		ck_assert_int_eq(t->test(req, &done, &size), 0);
	ck_assert_int_eq(done, 0);
	ck_assert_int_eq(lines, 1);
	put(fd, "late", 4);
	ck_assert_int_eq(finish(req, &size), 0);
	ck_assert_int_eq(size, 4);
	close(fd);
	t->close_recv(recv);
	tear_down();
}

TEST(nobody_listens)
{
	char h[NB_NET_HANDLE];
	void *send = NULL;
	int rc = 0;

	if (!set_up())
		return;
	memcpy(h, handle, sizeof(h));
	t->close_listen(listener);
	listener = NULL;
	nb_tcp_conf.connect_ns = 1;
	while (!rc && !send)
		rc = t->connect(ctx, 0, -1, h, &send, NULL);
	ck_assert_int_eq(rc, NB_NET_REMOTE);
	/* with patience it tries again, and gives up when its context ends */
	nb_tcp_conf.connect_ns = UINT64_MAX;
	memcpy(h, handle, sizeof(h));
	for (int i = 0; i < 10; i++)
		ck_assert_int_eq(t->connect(ctx, 0, -1, h, &send, NULL), 0);
	ck_assert_ptr_null(send);
	tear_down();
}

TEST(a_handle_of_somebody_elses_is_refused)
{
	struct nb_tcp_handle old;
	char h[NB_NET_HANDLE];
	void *send = NULL;

	if (!set_up())
		return;
	memset(h, 0x5a, sizeof(h));
	ck_assert_int_eq(t->connect(ctx, 0, -1, h, &send, NULL), NB_NET_ARGUMENT);
	ck_assert_ptr_null(send);
	ck_assert_int_eq(t->listen(ctx, 99, h, &send), NB_NET_ARGUMENT);
	/* version 1 had a hello of 32 bytes */
	memcpy(&old, handle, sizeof(old));
	old.version = 1;
	memcpy(h, &old, sizeof(old));
	ck_assert_int_eq(t->connect(ctx, 0, -1, h, &send, NULL), NB_NET_ARGUMENT);
	ck_assert_ptr_null(send);
	tear_down();
}

/* How many sockets of this process have that class. */
static int with_class(int traffic_class)
{
	int n = 0;

	for (int fd = 3; fd < 256; fd++) {
		int have = 0;
		socklen_t size = sizeof(have);

		if (!getsockopt(fd, IPPROTO_IP, IP_TOS, &have, &size))
			n += have == traffic_class;
	}
	return n;
}

TEST(the_traffic_class_reaches_the_socket)
{
	struct nb_net_init init = { 1, 0x20, NULL, NULL };
	char h[NB_NET_HANDLE];
	void *own = NULL, *send = NULL;

	if (!set_up() || nb_tcp_dev(0)->addr.any.sa_family != AF_INET)
		return;
	ck_assert_int_eq(with_class(0x48) + with_class(0x20), 0);
	memcpy(h, handle, sizeof(h));
	while (!send)
		ck_assert_int_eq(t->connect(ctx, 0, 0x48, h, &send, NULL), 0);
	ck_assert_int_eq(with_class(0x48), 1);
	/* from v11 on, a program's choice comes when the connection is made */
	ncclbpfNetExtension_v1.set_class(send, 0x60);
	ck_assert_int_eq(with_class(0x48), 0);
	ck_assert_int_eq(with_class(0x60), 1);
	t->close_send(send);
	send = NULL;
	ck_assert_int_eq(t->init(&own, &init), 0);
	memcpy(h, handle, sizeof(h));
	while (!send)
		ck_assert_int_eq(t->connect(own, 0, -1, h, &send, NULL), 0);
	ck_assert_int_eq(with_class(0x20), 1);
	t->close_send(send);
	t->finalize(own);
	tear_down();
}

TEST(memory_that_the_cpu_cannot_read_is_refused)
{
	const size_t page = 4096;
	void *send, *recv, *mh = NULL;
	char *at = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (!set_up())
		return;
	ck_assert_ptr_ne(at, MAP_FAILED);
	ck_assert_int_eq(mprotect(at + page, page, PROT_NONE), 0);
	pair_up(&send, &recv);
	ck_assert_int_eq(t->reg_mr(send, at, page, NB_NET_HOST_MEMORY, &mh), 0);
	ck_assert_ptr_nonnull(mh);
	ck_assert_int_eq(t->reg_mr(send, at, page + 1, NB_NET_HOST_MEMORY, &mh), NB_NET_ARGUMENT);
	ck_assert_ptr_null(mh);
	ck_assert_ptr_nonnull(strstr(said, "net: 4097 bytes at "));
	ck_assert_ptr_nonnull(strstr(said, "the CPU cannot read them"));
	t->close_send(send);
	t->close_recv(recv);
	tear_down();
}

TEST(no_descriptor_is_left)
{
	int before, after;

	if (!set_up())
		return;
	before = dup(0);
	for (int i = 0; i < 50; i++) {
		void *send, *recv;

		pair_up(&send, &recv);
		post_send(send, &before, 4);
		t->close_send(send);
		t->close_recv(recv);
	}
	after = dup(0);
	ck_assert_int_eq(after, before + 1);
	tear_down();
}

TEST(out_of_descriptors_is_a_system_error)
{
	struct rlimit few = { 0, 0 };
	char h[NB_NET_HANDLE];
	void *send = NULL, *other = NULL;
	int fd;

	if (!set_up())
		return;
	fd = stranger();
	few.rlim_cur = few.rlim_max = (rlim_t)fd + 1;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &few), 0);
	ck_assert_int_eq(t->listen(ctx, 0, h, &other), NB_NET_SYSTEM);
	memcpy(h, handle, sizeof(h));
	ck_assert_int_eq(t->connect(ctx, 0, -1, h, &send, NULL), NB_NET_SYSTEM);
	ck_assert_int_eq(t->accept(listener, &send, NULL), NB_NET_SYSTEM);
	close(fd);
	tear_down();
}

TEST(interfaces_by_nccls_rules)
{
	static const struct {
		const char *value, *name;
		bool lets;
	} rows[] = {
		{ "eth", "eth0", true },      { "eth", "lo", false },
		{ "=eth0", "eth0", true },    { "=eth", "eth0", false },
		{ "^eth", "eth0", false },    { "^eth", "lo", true },
		{ "ib,eth", "eth1", true },   { "ib,eth", "ens1", false },
		{ "^=lo", "lo1", true },      { "^=lo,eth", "lo", false },
		{ "^lo,eth", "eth0", false }, { ",,lo", "lo", true },
	};
	static struct nb_tcp_dev devs[NB_TCP_MAX_DEVS];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		ck_assert_msg(nb_tcp_ifname_lets(rows[i].value, rows[i].name) == rows[i].lets,
			      "%s, %s", rows[i].value, rows[i].name);
	ck_assert_int_eq(nb_tcp_find_devs("=no such one", AF_UNSPEC, devs, NB_TCP_MAX_DEVS), 0);
	ck_assert_int_le(nb_tcp_find_devs("^", AF_UNSPEC, devs, 1), 1);
}

static void *ping(void *arg)
{
	char out = 1, in = 0;
	void *send, *recv, *mine = NULL;
	char h[NB_NET_HANDLE], from[NB_NET_HANDLE];

	if (t->listen(ctx, 0, h, &mine))
		return arg;
	memcpy(from, h, sizeof(h));
	send = recv = NULL;
	while (!send || !recv)
		if ((!send && t->connect(ctx, 0, -1, from, &send, NULL)) ||
		    (!recv && t->accept(mine, &recv, NULL)))
			return arg;
	for (int i = 0; i < 500; i++) {
		void *r = NULL, *s = NULL, *at = &in;
		size_t one = 1;
		int a = 0, b = 0;

		if (t->irecv(recv, 1, &at, &one, NULL, NULL, NULL, &r) ||
		    t->isend(send, &out, 1, 0, NULL, NULL, &s))
			return arg;
		while (!a || !b)
			if ((!a && t->test(r, &a, NULL)) || (!b && t->test(s, &b, NULL)))
				return arg;
		if (in != out++)
			return arg;
	}
	t->close_send(send);
	t->close_recv(recv);
	t->close_listen(mine);
	return NULL;
}

TEST(threads_have_their_own_connections)
{
	pthread_t thread[4];

	if (!set_up())
		return;
	for (int i = 0; i < 4; i++)
		ck_assert_int_eq(pthread_create(&thread[i], NULL, ping, said), 0);
	for (int i = 0; i < 4; i++) {
		void *why = NULL;

		pthread_join(thread[i], &why);
		ck_assert_ptr_null(why);
	}
	tear_down();
}

// clang-format off
UNIT_MAIN("net")
