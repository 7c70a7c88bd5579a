// SPDX-License-Identifier: MIT
// tier: quick  load: cpu  limit: 600
// A peer that does not keep to the protocol of GIN over TCP: rank 0 is a plain
// socket here, rank 1 libnccl-net-tcp.so. Each refused message has an accepted
// twin that differs in one field.
#include "plugin/tcp/join.h"
#include "test/unit/gin_ranks.h"

#include <errno.h>
#include <fcntl.h>

static int evil; /* the socket of rank 0 */
static uint32_t number;
static struct nb_tcp_hello hello;

static int connect_to(const struct rank *r)
{
	const struct nb_tcp_handle *h = (const void *)r->handle;
	union nb_tcp_addr a = { .any.sa_family = h->family };
	int fd = socket(h->family, SOCK_STREAM, 0);

	ck_assert_int_ge(fd, 0);
	if (h->family == AF_INET6) {
		a.v6.sin6_port = h->port;
		memcpy(&a.v6.sin6_addr, h->addr, 16);
	} else {
		a.v4.sin_port = h->port;
		memcpy(&a.v4.sin_addr, h->addr, 4);
	}
	ck_assert_int_eq(connect(fd, &a.any, nb_tcp_addr_size(&a)), 0);
	hello = (struct nb_tcp_hello){ .magic = NB_TCP_HELLO_MAGIC,
				       .cookie = h->cookie,
				       .version = NB_TCP_VERSION,
				       .nranks = 2 };
	return fd;
}

static void put(const void *bytes, size_t n)
{
	ck_assert_int_eq(send(evil, bytes, n, MSG_NOSIGNAL), (ssize_t)n);
}

/* Rank 1 is connected to our socket. */
static void evil_open(void)
{
	ranks_listen(2);
	evil = connect_to(&ranks[1]);
	put(&hello, sizeof(hello));
	ranks_connect(1, 2);
	ck_assert_int_eq(recv(evil, &hello, sizeof(hello), MSG_WAITALL), sizeof(hello));
	ck_assert_uint_eq(hello.rank, 1);
	ck_assert_int_eq(ranks[1].rc, 0);
	rank_register(&ranks[1]);
	number = 0;
}

static void evil_close(void)
{
	close(evil);
	rank_close(&ranks[1]);
	t->close_listen(ranks[0].listener);
	t->finalize(ranks[0].ctx);
}

/* A signal with a put of 8 bytes at 64, which is right. */
static struct nb_gin_head good(void)
{
	struct nb_gin_head h = { .magic = NB_GIN_MAGIC,
				 .number = number++,
				 .kind = NB_GIN_SIGNAL,
				 .signal_op = NB_GIN_INCREMENT,
				 .region = 1,
				 .signal_region = 0,
				 .offset = 64,
				 .size = 8 };

	return h;
}

static void send_head(const struct nb_gin_head *h)
{
	put(h, sizeof(*h));
	if (h->size && h->kind <= NB_GIN_SIGNAL)
		put("datadata", 8);
}

static void step(void)
{
	t->progress(ranks[1].coll, NULL);
	usleep(100);
}

static const char *state(void)
{
	struct nb_gin_link l;

	t->link(ranks[1].coll, 0, &l);
	return l.state;
}

static bool is_zero(const char *p, size_t n)
{
	return !*p && !memcmp(p, p + 1, n - 1);
}

/* The message is refused as @what, and nothing is written. */
static void refused(const struct nb_gin_head *h, enum nb_gin_offence what)
{
	uint64_t before = nb_gin_tcp_offences(what);
	struct nb_gin_message o;
	struct nb_gin_link l;

	send_head(h);
	while (nb_gin_tcp_offences(what) == before)
		step();
	t->link(ranks[1].coll, 0, &l);
	ck_assert_str_eq(l.state, "lost");
	ck_assert_str_eq(l.offence, nb_gin_offence_word(what));
	ck_assert(is_zero(ranks[1].data, BYTES));
	for (unsigned i = 0; i < SIGNALS; i++)
		ck_assert_uint_eq(read_signal(&ranks[1], i), 0);
	ck_assert_ptr_nonnull(strstr(said, "lost the connection to rank 0"));
	/* NCCL learns it with the next put, to whomever */
	ck_assert_int_eq(post_signal(&ranks[1], &o, 1, 0, 0, 0, 0), NB_NET_REMOTE);
}

TEST(a_right_message_is_applied)
{
	struct nb_gin_head h;

	evil_open();
	h = good();
	send_head(&h);
	while (!read_signal(&ranks[1], 0))
		step();
	ck_assert_int_eq(memcmp(ranks[1].data + 64, "datadata", 8), 0);
	/* up to the last byte of window and signals */
	h = good();
	h.offset = BYTES - 8;
	h.signal_offset = (SIGNALS - 1) * 8;
	send_head(&h);
	while (!read_signal(&ranks[1], SIGNALS - 1))
		step();
	ck_assert_str_eq(state(), "open");
	evil_close();
}

static const struct {
	enum nb_gin_offence what;
	size_t at, size; /* the field that changes */
	uint64_t value;
} wrong[] = {
#define WRONG(what, field, value)                                       \
	{                                                               \
		NB_GIN_BAD_##what, offsetof(struct nb_gin_head, field), \
			sizeof(((struct nb_gin_head *)0)->field), value \
	}
	WRONG(HEADER, magic, 0x6e67626e),
	WRONG(HEADER, zero, 1),
	WRONG(NUMBER, number, 1),
	WRONG(KIND, kind, NB_GIN_FLUSH),
	WRONG(KIND, kind, NB_GIN_NKINDS),
	WRONG(KIND, kind, 255),
	WRONG(REGION, region, 2),
	WRONG(REGION, region, NB_GIN_NO_REGION),
	WRONG(REGION, signal_region, 2),
	WRONG(BOUNDS, offset, BYTES - 7),
	WRONG(BOUNDS, offset, UINT64_MAX - 7),
	WRONG(BOUNDS, offset, UINT64_MAX),
	WRONG(BOUNDS, size, BYTES - 63),
	WRONG(BOUNDS, size, UINT64_MAX),
	WRONG(BOUNDS, size, UINT64_MAX - 63),
	WRONG(BOUNDS, signal_offset, SIGNALS * 8 - 7),
	WRONG(BOUNDS, signal_offset, UINT64_MAX - 7),
	WRONG(ALIGNMENT, signal_offset, 4),
	WRONG(SIGNAL, signal_op, 0),
	WRONG(SIGNAL, signal_op, NB_GIN_NSIGNAL_OPS),
	WRONG(SIGNAL, kind, NB_GIN_PUT),
	WRONG(ANSWER, kind, NB_GIN_ANSWER),
#undef WRONG
};

TEST_EACH(a_message_that_differs_in_one_field_is_refused, 0, sizeof(wrong) / sizeof(wrong[0]))
{
	struct nb_gin_head h;

	evil_open();
	h = good();
	memcpy((char *)&h + wrong[_i].at, &wrong[_i].value, wrong[_i].size);
	refused(&h, wrong[_i].what);
	evil_close();
}

TEST(a_get_outside_is_refused_and_inside_answered)
{
	struct nb_gin_head h, answer;

	evil_open();
	h = good();
	h.kind = NB_GIN_GET;
	h.signal_op = 0;
	strcpy(ranks[1].data + 64, "secret!");
	send_head(&h);
	for (size_t got = 0; got < sizeof(answer);) {
		ssize_t n = recv(evil, (char *)&answer + got, sizeof(answer) - got, MSG_DONTWAIT);

		step();
		if (n > 0)
			got += (size_t)n;
		if (got == sizeof(answer) && answer.kind == NB_GIN_REGION)
			got = 0; /* of the memory registered above */
	}
	ck_assert_int_eq(answer.kind, NB_GIN_ANSWER);
	ck_assert_uint_eq(answer.size, 8);
	memset(ranks[1].data, 0, 100);
	h = good();
	h.kind = NB_GIN_GET;
	h.signal_op = 0;
	h.size = BYTES;
	refused(&h, NB_GIN_BAD_BOUNDS);
	evil_close();
}

TEST(memory_deregistered_in_mid_put_is_not_written)
{
	struct nb_gin_head h;
	uint64_t before = nb_gin_tcp_offences(NB_GIN_BAD_REGION);

	evil_open();
	h = good();
	h.size = 1000;
	put(&h, sizeof(h));
	put("begin", 5);
	while (ranks[1].data[68] != 'n')
		step();
	ck_assert_int_eq(t->dereg_mr(ranks[1].coll, ranks[1].window), 0);
	memset(ranks[1].data, 0, BYTES);
	send(evil, "rest", 4, MSG_NOSIGNAL);
	while (nb_gin_tcp_offences(NB_GIN_BAD_REGION) == before)
		step();
	ck_assert(is_zero(ranks[1].data, BYTES));
	ck_assert_uint_eq(read_signal(&ranks[1], 0), 0);
	evil_close();
}

/* Ask for the whole window, and read only the first bytes of the answer. */
static void begin_get(void)
{
	struct nb_gin_head h = good(), answer = { .kind = NB_GIN_REGION };

	h.kind = NB_GIN_GET;
	h.signal_op = 0;
	h.offset = 0;
	h.size = BYTES;
	send_head(&h);
	while (answer.kind == NB_GIN_REGION) {
		step();
		if (recv(evil, &answer, sizeof(answer), MSG_PEEK | MSG_DONTWAIT) == sizeof(answer))
			recv(evil, &answer, sizeof(answer), 0);
	}
	ck_assert_int_eq(answer.kind, NB_GIN_ANSWER);
	ck_assert_uint_eq(answer.size, BYTES);
}

/* Bytes that come until the answer is whole or the connection ends. */
static size_t read_answer(void)
{
	static char sink[1 << 16];
	size_t got = 0;

	while (got < BYTES) {
		ssize_t n = recv(evil, sink, sizeof(sink), MSG_DONTWAIT);

		if (n == 0 || (n < 0 && errno != EAGAIN))
			break;
		if (n > 0)
			got += (size_t)n;
		t->progress(ranks[1].coll, NULL);
	}
	return got;
}

TEST_EACH(memory_deregistered_in_mid_answer_is_not_read, 0, 2)
{
	nb_tcp_conf.buffer = 32768;
	evil_open();
	begin_get();
	if (_i) {
		ck_assert_int_eq(t->dereg_mr(ranks[1].coll, ranks[1].window), 0);
		ck_assert_uint_lt(read_answer(), BYTES);
	} else {
		ck_assert_uint_ge(read_answer(), BYTES);
	}
	ck_assert_str_eq(state(), _i ? "lost" : "open");
	ck_assert(!strstr(said, "was deregistered on this rank") == !_i);
	nb_gin_tcp_conf.close_ns = 1000000;
	evil_close();
}

TEST(a_peer_that_goes_without_goodbye_is_named)
{
	struct nb_gin_message o;
	struct nb_gin_head h;

	evil_open();
	h = good();
	put(&h, sizeof(h));
	put("half", 4);
	ck_assert_int_eq(post_put(&ranks[1], &o, 0, 0, 0, 8), 0);
	step();
	close(evil);
	while (strcmp(state(), "lost") != 0)
		step();
	ck_assert_ptr_nonnull(strstr(said, "rank 1 lost the connection to rank "
					   "0"));
	ck_assert_uint_eq(read_signal(&ranks[1], 0), 0);
	ck_assert_int_eq(post_put(&ranks[1], &o, 0, 0, 0, 8), NB_NET_REMOTE);
	evil = -1;
	evil_close();
}

TEST(a_goodbye_ends_without_an_error)
{
	struct nb_gin_head h;
	struct nb_gin_message o;

	evil_open();
	h = good();
	h.kind = NB_GIN_GOODBYE;
	h.size = 0;
	send_head(&h);
	close(evil);
	evil = -1;
	while (strcmp(state(), "closed") != 0)
		step();
	for (int i = 0; i < 20; i++)
		step();
	ck_assert_str_eq(said, "");
	ck_assert_int_eq(post_signal(&ranks[1], &o, 1, 0, 0, 0, 0), 0);
	evil_close();
}

TEST(a_peer_that_takes_nothing_is_stalled_until_it_does)
{
	struct nb_gin_message o, next;
	static char sink[1 << 16];

	nb_gin_tcp_conf.stall_ns = 1;
	nb_tcp_conf.buffer = 32768;
	evil_open();
	ck_assert_int_eq(post_put(&ranks[1], &o, 0, 0, 0, BYTES), 0);
	while (strcmp(state(), "stalled") != 0)
		t->progress(ranks[1].coll, NULL);
	ck_assert_ptr_nonnull(strstr(said, "rank 0"));
	ck_assert_ptr_nonnull(strstr(said, "has taken nothing from rank 1"));
	ck_assert_int_eq(post_put(&ranks[1], &next, 0, 0, 0, 8), NB_NET_REMOTE);
	nb_gin_tcp_conf.stall_ns = UINT64_C(100000000000);
	while (o.state == NB_GIN_POSTED) {
		t->progress(ranks[1].coll, NULL);
		while (recv(evil, sink, sizeof(sink), MSG_DONTWAIT) > 0)
			;
	}
	ck_assert_str_eq(state(), "open");
	ck_assert_int_eq(post_put(&ranks[1], &next, 0, 0, 0, 8), 0);
	nb_gin_tcp_conf.close_ns = 1000000;
	evil_close();
}

/* ---- connecting ---- */

TEST(missing_ranks_are_named_in_bounded_time)
{
	nb_gin_tcp_conf.connect_ns = 2000000000; /* enough for ranks 0 and 1 to meet */
	ranks_listen(5);
	/* rank 2 and 3 never connect, though they listen */
	ranks_connect(4, 5);
	ck_assert_int_eq(ranks[4].rc, NB_NET_REMOTE);
	ck_assert_ptr_nonnull(strstr(said, "rank 4 of 5 cannot connect"));
	ck_assert_ptr_nonnull(strstr(said, "rank 0, 1, 2, 3 is missing"));
	said[0] = '\0';
	ranks_connect(0, 2);
	ck_assert_int_eq(ranks[0].rc, NB_NET_REMOTE);
	ck_assert_ptr_nonnull(strstr(said, "rank 2, 3, 4 is missing"));
	ck_assert_ptr_null(ranks[0].coll);
	for (int i = 0; i < 5; i++) {
		t->close_listen(ranks[i].listener);
		t->finalize(ranks[i].ctx);
	}
}

TEST(strangers_do_not_disturb_a_connect)
{
	struct nb_tcp_hello h;
	int fd[3];
	uint64_t before = nb_tcp_counted(NB_NET_STRANGERS);

	ranks_listen(2);
	fd[0] = connect_to(&ranks[1]); /* silent */
	fd[1] = connect_to(&ranks[1]);
	h = hello;
	h.cookie++; /* does not know the number */
	send(fd[1], &h, sizeof(h), MSG_NOSIGNAL);
	fd[2] = connect_to(&ranks[1]);
	h = hello;
	h.rank = 1; /* the listener's own */
	send(fd[2], &h, sizeof(h), MSG_NOSIGNAL);
	ranks_connect(0, 2);
	ck_assert_int_eq(ranks[0].rc | ranks[1].rc, 0);
	ck_assert_uint_ge(nb_tcp_counted(NB_NET_STRANGERS), before);
	for (int i = 0; i < 2; i++)
		rank_register(&ranks[i]);
	for (int i = 0; i < 3; i++)
		close(fd[i]);
	ranks_close(2);
}

/* As many silent strangers as a listener keeps, and some more, before (0) or
 * behind (1) the peer in its queue. */
TEST_EACH(a_crowd_of_strangers_does_not_push_a_peer_out, 0, 2)
{
	enum { CROWD = 80 };
	int fd[CROWD];

	nb_tcp_conf.patience_ns = 10000000;
	ranks_listen(2);
	if (_i) {
		evil = connect_to(&ranks[1]);
		put(&hello, sizeof(hello));
	}
	for (int i = 0; i < CROWD; i++)
		fd[i] = connect_to(&ranks[1]);
	if (!_i) {
		evil = connect_to(&ranks[1]);
		put(&hello, sizeof(hello));
	}
	ranks_connect(1, 2);
	ck_assert_int_eq(ranks[1].rc, 0);
	ck_assert_int_eq(recv(evil, &hello, sizeof(hello), MSG_WAITALL), sizeof(hello));
	ck_assert_uint_eq(hello.rank, 1);
	for (int i = 0; i < CROWD; i++)
		close(fd[i]);
	rank_register(&ranks[1]);
	evil_close();
}

TEST(a_handle_of_another_plugin_is_refused)
{
	char other[NB_NET_HANDLE] = "not ours";

	if (fcntl(STDIN_FILENO, F_GETFD) < 0)
		ck_assert_int_eq(open("/dev/null", O_RDONLY), STDIN_FILENO);
	ranks_listen(3);
	handles[1] = other;
	ranks_connect(0, 1);
	ck_assert_int_eq(ranks[0].rc, NB_NET_ARGUMENT);
	ck_assert_ptr_nonnull(strstr(said, "the handle of rank 1 is not ours"));
	/* the ranks behind it have no descriptor yet, and none is closed */
	ck_assert_int_ge(fcntl(STDIN_FILENO, F_GETFD), 0);
	for (int i = 0; i < 3; i++) {
		t->close_listen(ranks[i].listener);
		t->finalize(ranks[i].ctx);
	}
}

// clang-format off
UNIT_MAIN("gin_hostile")
