// SPDX-License-Identifier: MIT
// tier: quick  load: cpu  limit: 600
// One connection of the control socket whose client is idle, whose stream writes
// too much, or for which the kernel has no memory.
#include "test/unit/unit.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/job/wire/object.h"
#include "plugin/control/connection.h"

/* What nb_wire_send fails with; 0: it sends. */
static int send_error;

ssize_t __real_nb_wire_send(int sock, const char *bytes, size_t size, int fd);
ssize_t __wrap_nb_wire_send(int sock, const char *bytes, size_t size, int fd);
ssize_t __wrap_nb_wire_send(int sock, const char *bytes, size_t size, int fd)
{
	if (!send_error)
		return __real_nb_wire_send(sock, bytes, size, fd);
	errno = send_error;
	return -1;
}

static struct nb_conn *conn;
static int client, server;

static void set_up(void)
{
	const struct nb_peer peer = { .pid = getpid() };
	int ends[2];

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends),
			 0);
	client = ends[0];
	server = ends[1];
	conn = nb_conn_new(NULL, NULL, server, &peer, 0);
	ck_assert_ptr_nonnull(conn);
	nb_conn_greet(conn);
	send_error = 0;
}

static void tear_down(void)
{
	nb_conn_free(conn);
	close(server);
	close(client);
}

/* One record in each poll, of @state bytes. */
static int poll_bytes(void *state, struct nb_json *out, struct nb_err *err)
{
	size_t n = *(size_t *)state;
	char *text = calloc(1, n + 1);

	(void)err;
	memset(text, 'x', n);
	nb_json_kstr(out, "record", text);
	free(text);
	return 1;
}

static void follow(size_t *bytes)
{
	const struct nb_request req = { .has_id = true, .id = 7 };

	ck_assert_int_eq(nb_conn_follow(conn, &req, poll_bytes, bytes, NULL, NULL), 0);
}

static const char *received(void)
{
	static char text[4096];
	ssize_t n = recv(client, text, sizeof(text) - 1, 0);

	text[n > 0 ? n : 0] = '\0';
	return text;
}

/* Its place may go to a client that waits, and only then. */
TEST(a_client_without_a_request_or_stream_is_idle)
{
	size_t bytes = 1;

	ck_assert_uint_eq(nb_conn_spare_ms(conn, NB_CONN_IDLE_MS - 1), 0);
	ck_assert_uint_eq(nb_conn_spare_ms(conn, NB_CONN_IDLE_MS), NB_CONN_IDLE_MS);
	ck_assert(nb_conn_tick(conn, 0, NB_CONN_IDLE_MS));
	ck_assert_int_eq(send(client, "hel", 3, 0), 3);
	ck_assert(nb_conn_tick(conn, POLLIN, NB_CONN_IDLE_MS));
	ck_assert_uint_eq(nb_conn_spare_ms(conn, 2 * NB_CONN_IDLE_MS), 0);
	tear_down();
	set_up();
	follow(&bytes);
	ck_assert_uint_eq(nb_conn_spare_ms(conn, 2 * NB_CONN_IDLE_MS), 0);
	/* a reply that it does not read is another matter, and so is the end of the client */
	send_error = EAGAIN;
	ck_assert(nb_conn_tick(conn, 0, 1000));
	ck_assert_uint_eq(nb_conn_spare_ms(conn, 1000 + NB_CONN_READ_MS - 1), 0);
	ck_assert_uint_eq(nb_conn_spare_ms(conn, 1000 + NB_CONN_READ_MS), NB_CONN_READ_MS);
	shutdown(client, SHUT_RDWR);
	ck_assert_uint_eq(nb_conn_spare_ms(conn, 1000), UINT64_MAX);
}

/* poll(2) would return at once, time and again. */
TEST_EACH(without_memory_for_a_reply_the_thread_waits, 0, 2)
{
	size_t bytes = 1;

	follow(&bytes);
	send_error = _i ? ENOMEM : ENOBUFS;
	ck_assert(nb_conn_tick(conn, 0, 1000));
	ck_assert_int_eq(nb_conn_events(conn) & POLLOUT, 0);
	ck_assert_int_eq(nb_conn_patience(conn), NB_CONN_POLL_MS);
	ck_assert(nb_conn_tick(conn, 0, 1100));
	ck_assert_int_eq(nb_conn_events(conn) & POLLOUT, 0);
	send_error = EAGAIN; /* the client's buffer is full */
	ck_assert(nb_conn_tick(conn, 0, 1200));
	ck_assert_int_eq(nb_conn_events(conn) & POLLOUT, POLLOUT);
	send_error = 0;
	ck_assert(nb_conn_tick(conn, POLLOUT, 1300));
	ck_assert_ptr_nonnull(strstr(received(), "\"record\":\"x\""));
}

/* The records of that line are lost, and the source does not count them. */
TEST(a_line_that_does_not_fit_ends_the_stream)
{
	size_t bytes = 1;
	const char *text;

	follow(&bytes);
	ck_assert(nb_conn_tick(conn, 0, 1000));
	ck_assert_ptr_nonnull(strstr(received(), "\"record\":\"x\""));
	bytes = NB_WIRE_REPLY + 8192;
	ck_assert(nb_conn_tick(conn, 0, 2000));
	text = received();
	ck_assert_msg(strstr(text, "\"code\":\"over_limit\""), "%s", text);
	bytes = 1;
	ck_assert(nb_conn_tick(conn, 0, 3000));
	ck_assert_str_eq(received(), "");
}

UNIT_MAIN_WITH("connection", tcase_add_checked_fixture(tc, set_up, tear_down);)
