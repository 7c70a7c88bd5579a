// SPDX-License-Identifier: MIT
/*
 * One connection of the control socket. The peer belongs to our own user but
 * may be faulty, slow, gone or hostile, so nothing here waits and everything is
 * bounded. A stream socket does not tell to which line of a read a received
 * descriptor belongs. Descriptors are therefore kept until the buffered lines
 * are handled, and a request takes the oldest one.
 */
#include "plugin/control/connection.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/job/wire/object.h"

struct stream {
	bool used, ending;
	/* copy of the request, of which only the ID is used */
	struct nb_request req;
	nb_stream_poll_fn *poll;
	void *state;
	void (*free_state)(void *state);
};

struct nb_conn {
	struct nb_control *control;
	const struct nb_handler *handlers;
	struct nb_peer peer;
	int fd;
	bool eof, closing;
	/* the kernel lacked memory for output, though poll(2) reports POLLOUT */
	bool no_memory;

	char *in;	     /* input buffer of NB_WIRE_LINE + 1 bytes */
	size_t nin, scanned; /* the first @scanned bytes contain no line feed */
	int fds[NB_CONN_FDS];
	unsigned nfds;

	struct nb_buf out;
	size_t sent;
	int fd_out; /* descriptor to send with the first byte of out */

	uint64_t born_ms, line_ms, progress_ms, polled_ms, now_ms;
	struct stream streams[NB_CONN_STREAMS];
};

struct nb_conn *nb_conn_new(struct nb_control *control, const struct nb_handler *handlers, int fd,
			    const struct nb_peer *peer, uint64_t now_ms)
{
	struct nb_conn *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->in = malloc(NB_WIRE_LINE + 1);
	if (!c->in) {
		free(c);
		return NULL;
	}
	c->control = control;
	c->handlers = handlers;
	c->fd = fd;
	c->fd_out = -1;
	c->peer = *peer;
	c->born_ms = c->progress_ms = c->polled_ms = c->now_ms = now_ms;
	/* the buffer holds at most a reply and the last lines of all streams */
	nb_buf_init(&c->out, NB_WIRE_REPLY + 4096);
	return c;
}

static void close_fds(struct nb_conn *c)
{
	while (c->nfds)
		close(c->fds[--c->nfds]);
}

static void stream_fini(struct stream *s)
{
	if (s->used && s->free_state)
		s->free_state(s->state);
	*s = (struct stream){ .used = false };
}

void nb_conn_free(struct nb_conn *c)
{
	if (!c)
		return;
	for (unsigned i = 0; i < NB_CONN_STREAMS; i++)
		stream_fini(&c->streams[i]);
	close_fds(c);
	if (c->fd_out >= 0)
		close(c->fd_out);
	nb_buf_fini(&c->out);
	free(c->in);
	free(c);
}

int nb_conn_fd(const struct nb_conn *c)
{
	return c->fd;
}

struct nb_control *nb_conn_control(const struct nb_conn *c)
{
	return c->control;
}

void nb_conn_greet(struct nb_conn *c)
{
	c->peer.greeted = true;
}

static bool conn_has_output(const struct nb_conn *c)
{
	return c->sent < c->out.size;
}

static bool has_stream(const struct nb_conn *c)
{
	for (unsigned i = 0; i < NB_CONN_STREAMS; i++)
		if (c->streams[i].used)
			return true;
	return false;
}

/* Returns the length of the first complete line, or -1 if there is none. */
static ssize_t whole_line(struct nb_conn *c)
{
	char *lf =
		c->nin > c->scanned ? memchr(c->in + c->scanned, '\n', c->nin - c->scanned) : NULL;

	if (!lf) {
		c->scanned = c->nin;
		return -1;
	}
	c->scanned = (size_t)(lf - c->in);
	return lf - c->in;
}

static bool wants_input(const struct nb_conn *c)
{
	return !c->closing && !c->eof && !conn_has_output(c) && c->nin < NB_WIRE_LINE &&
	       c->scanned == c->nin;
}

short nb_conn_events(const struct nb_conn *c)
{
	return (short)((wants_input(c) ? POLLIN : 0) |
		       (conn_has_output(c) && !c->no_memory ? POLLOUT : 0));
}

int nb_conn_patience(const struct nb_conn *c)
{
	/* complete lines are waiting, which the last call left unhandled */
	if (!conn_has_output(c) && !c->closing && c->scanned < c->nin)
		return 0;
	if (c->no_memory || (has_stream(c) && !conn_has_output(c)))
		return NB_CONN_POLL_MS;
	return 500; /* wake up twice a second to check time limits */
}

/* Write pending output. Returns false if the peer is gone. */
static bool write_output(struct nb_conn *c)
{
	c->no_memory = false;
	while (conn_has_output(c)) {
		ssize_t n = nb_wire_send(c->fd, (char *)c->out.data + c->sent,
					 c->out.size - c->sent, c->fd_out);

		c->no_memory = n < 0 && (errno == ENOBUFS || errno == ENOMEM);
		if (n < 0)
			return c->no_memory || errno == EAGAIN || errno == EINTR;
		if (c->fd_out >= 0)
			close(c->fd_out);
		c->fd_out = -1;
		c->sent += (size_t)n;
		c->progress_ms = c->now_ms;
	}
	nb_buf_clear(&c->out);
	c->sent = 0;
	return true;
}

/* Queue an error line, and close the connection when the line is sent. */
static void conn_close_with(struct nb_conn *c, const struct nb_err *err)
{
	nb_reply_error(&c->out, NULL, err, NULL, NULL);
	c->closing = true;
	c->progress_ms = c->now_ms;
}

static void close_long(struct nb_conn *c)
{
	struct nb_err err;

	nb_fail(&err, NB_E_LIMIT, 0, "a request line is longer than %d bytes, the limit",
		NB_WIRE_LINE);
	conn_close_with(c, &err);
}

static void close_late(struct nb_conn *c, const char *what, int allowed_ms)
{
	struct nb_err err;

	nb_fail(&err, NB_E_TIMEOUT, 0, "%s within %d ms", what, allowed_ms);
	conn_close_with(c, &err);
}

/* Read input from the socket. Returns false if the peer is gone. */
static bool read_input(struct nb_conn *c)
{
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(16 * sizeof(int))];
	} u;
	struct iovec v = { c->in + c->nin, NB_WIRE_LINE - c->nin };
	struct msghdr m = { .msg_iov = &v,
			    .msg_iovlen = 1,
			    .msg_control = u.space,
			    .msg_controllen = sizeof(u.space) };
	ssize_t n = recvmsg(c->fd, &m, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR;
	c->nfds += nb_wire_take_fds(&m, c->fds + c->nfds, NB_CONN_FDS - c->nfds);
	if (n == 0)
		c->eof = true;
	if (!c->nin)
		c->line_ms = c->now_ms;
	c->nin += (size_t)n;
	return true;
}

int nb_conn_take_fd(struct nb_conn *c)
{
	int fd;

	if (!c->nfds)
		return -1;
	fd = c->fds[0];
	memmove(c->fds, c->fds + 1, --c->nfds * sizeof(c->fds[0]));
	return fd;
}

static void end_streams(struct nb_conn *c)
{
	for (unsigned i = 0; i < NB_CONN_STREAMS; i++)
		if (c->streams[i].used && c->streams[i].ending) {
			nb_reply_end(&c->out, &c->streams[i].req);
			stream_fini(&c->streams[i]);
		}
}

/* Answer the first line, which has @size bytes before its line feed. */
static bool conn_answer(struct nb_conn *c, size_t size)
{
	bool good = nb_command_answer(c->handlers, c, &c->peer, c->in, size, &c->out, &c->fd_out);

	c->nin -= size + 1;
	memmove(c->in, c->in + size + 1, c->nin);
	c->scanned = 0;
	c->line_ms = c->progress_ms = c->now_ms;
	end_streams(c);
	return good && nb_buf_ok(&c->out);
}

/*
 * Answer only a few lines in one call, so that other connections are served
 * too.
 */
static bool answer_lines(struct nb_conn *c)
{
	ssize_t size;

	for (int i = 0; i < 16 && !conn_has_output(c) && !c->closing; i++) {
		size = whole_line(c);
		if (size < 0)
			break;
		if (!conn_answer(c, (size_t)size) || !write_output(c))
			return false;
	}
	if (!conn_has_output(c) && !c->closing && c->nin == NB_WIRE_LINE && whole_line(c) < 0)
		close_long(c);
	if (!c->nin)
		close_fds(c);
	return true;
}

int nb_conn_follow(struct nb_conn *c, const struct nb_request *req, nb_stream_poll_fn *poll,
		   void *state, void (*free_state)(void *state), struct nb_err *err)
{
	struct stream *slot = NULL;

	if (!req->has_id)
		return nb_fail(
			err, NB_E_USAGE, 0,
			"%s follow=yes: "
			"the request needs an id (@7 %s …), or cancel could not stop the stream",
			req->spec->words, req->spec->words);
	for (unsigned i = 0; i < NB_CONN_STREAMS; i++) {
		if (!c->streams[i].used)
			slot = &c->streams[i];
		else if (c->streams[i].req.id == req->id)
			return nb_fail(err, NB_E_EXISTS, 0,
				       "id %llu already names a running stream",
				       (unsigned long long)req->id);
	}
	if (!slot)
		return nb_fail(err, NB_E_LIMIT, 0, "%d streams run on this connection, %d allowed",
			       NB_CONN_STREAMS, NB_CONN_STREAMS);
	*slot = (struct stream){ .used = true,
				 .req = { .has_id = true, .id = req->id },
				 .poll = poll,
				 .state = state,
				 .free_state = free_state };
	return 0;
}

int nb_conn_cancel(struct nb_conn *c, uint64_t id, struct nb_err *err)
{
	for (unsigned i = 0; i < NB_CONN_STREAMS; i++)
		if (c->streams[i].used && c->streams[i].req.id == id) {
			c->streams[i].ending = true;
			return 0;
		}
	return nb_fail(err, NB_E_NOENT, 0, "no stream of this connection has id %llu",
		       (unsigned long long)id);
}

/* Send new data of one stream as one line, if there is any. */
static void stream_line(struct nb_conn *c, struct stream *s)
{
	size_t mark = c->out.size;
	struct nb_err err = { .code = 0 };
	struct nb_json j;
	int rc;

	nb_reply_open(&j, &c->out, &s->req);
	nb_json_obj(&j);
	rc = s->poll(s->state, &j, &err);
	if (rc == 1) {
		nb_json_end_obj(&j);
		nb_reply_close(&j);
		if (nb_buf_ok(&c->out))
			return;
		/* the source has moved on, so the data would be missing without a word */
		rc = nb_fail(&err, NB_E_LIMIT, 0,
			     "the stream has ended, because a line of it is too long or there is "
			     "no memory for it (allowed: %d bytes)",
			     NB_WIRE_REPLY);
	}
	c->out.failed = false;
	c->out.size = mark;
	if (rc < 0) {
		nb_reply_error(&c->out, &s->req, &err, NULL, NULL);
		stream_fini(s);
	}
}

static bool poll_streams(struct nb_conn *c)
{
	if (c->now_ms - c->polled_ms < NB_CONN_POLL_MS)
		return true;
	c->polled_ms = c->now_ms;
	for (unsigned i = 0; i < NB_CONN_STREAMS; i++) {
		if (conn_has_output(c) || c->closing)
			return true;
		if (!c->streams[i].used)
			continue;
		c->progress_ms = c->now_ms;
		stream_line(c, &c->streams[i]);
		if (!nb_buf_ok(&c->out) || !write_output(c))
			return false;
	}
	return true;
}

/*
 * Enforce the time limits. Returns false to close the connection without a
 * message.
 */
static bool in_time(struct nb_conn *c)
{
	uint64_t now = c->now_ms;

	if (c->closing)
		return !conn_has_output(c) || now - c->progress_ms < NB_CONN_READ_MS;
	if (conn_has_output(c))
		return true;
	if (!c->peer.greeted && now - c->born_ms >= NB_CONN_GREET_MS)
		close_late(c, "no hello", NB_CONN_GREET_MS);
	else if (c->nin && whole_line(c) < 0 && now - c->line_ms >= NB_CONN_LINE_MS)
		close_late(c, "an incomplete request line", NB_CONN_LINE_MS);
	return true;
}

/* Has the client closed its end, and has it sent no request that waits? */
static bool is_abandoned(const struct nb_conn *c)
{
	struct pollfd p = { .fd = c->fd };
	char byte;

	return !c->nin && poll(&p, 1, 0) > 0 && (p.revents & POLLHUP) &&
	       recv(c->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) <= 0;
}

uint64_t nb_conn_spare_ms(const struct nb_conn *c, uint64_t now_ms)
{
	uint64_t ms = now_ms - c->progress_ms;
	bool unread = conn_has_output(c);

	if (is_abandoned(c))
		return UINT64_MAX;
	if (!unread && (c->nin || has_stream(c)))
		return 0;
	return ms >= (unread ? NB_CONN_READ_MS : NB_CONN_IDLE_MS) ? ms : 0;
}

bool nb_conn_tick(struct nb_conn *c, short revents, uint64_t now_ms)
{
	c->now_ms = now_ms;
	if (revents & (POLLERR | POLLNVAL))
		return false;
	if (conn_has_output(c) && (revents & (POLLOUT | POLLHUP)) && !write_output(c))
		return false;
	if (wants_input(c) && (revents & (POLLIN | POLLHUP)) && !read_input(c))
		return false;
	if (!answer_lines(c) || !poll_streams(c) || !in_time(c) || !write_output(c))
		return false;
	if (conn_has_output(c))
		return true;
	/* both directions are closed and no input is left */
	if (c->eof && (revents & POLLHUP))
		return false;
	if (c->eof && whole_line(c) < 0 && !has_stream(c))
		return false;
	return !c->closing;
}
