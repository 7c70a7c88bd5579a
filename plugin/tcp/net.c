// SPDX-License-Identifier: MIT
/*
 * Net: the data path. A connection's requests form a ring in
 * NCCL's order. Each call moves the first unfinished request on as far as the
 * socket allows. A message is a header and its bytes. A read also takes bytes
 * of following messages into a small buffer, so short messages cost one system
 * call.
 */
#include "plugin/tcp/join.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "plugin/runtime/clock.h"

enum { REQUESTS = 64, AHEAD = 4096, LOOK = 1024 };

enum phase { FREE, WAITS, DONE };

struct request {
	struct nb_tcp_comm *comm;
	enum phase phase;
	char *data;
	size_t posted; /* size of NCCL's buffer in bytes */
	size_t size;   /* size of the message in bytes, once it is known */
	size_t moved;  /* bytes sent or received so far */
};

struct nb_tcp_comm {
	int fd;
	bool send;
	/*
	 * result of the connection (enum nb_net_result); an error is permanent
	 */
	int error;
	uint64_t link;
	/* numbers of the waiting requests: first to last - 1 */
	uint32_t first, last;
	uint32_t number; /* number of the message being sent or received */
	size_t head_moved;
	struct nb_tcp_head head;
	/* The fields below are for the stall detection. */
	uint32_t idle;
	bool stalled;
	uint64_t moved_ns;
	union nb_tcp_addr peer;
	struct request request[REQUESTS];
	size_t ahead_at, ahead_end;
	char ahead[AHEAD];
};

struct nb_tcp_comm *nb_tcp_comm_new(int fd, bool send, uint64_t link, const union nb_tcp_addr *peer)
{
	struct nb_tcp_comm *c = calloc(1, sizeof(*c));

	if (!c) {
		close(fd);
		return NULL;
	}
	c->fd = fd;
	c->send = send;
	c->link = link;
	c->peer = *peer;
	for (int i = 0; i < REQUESTS; i++)
		c->request[i].comm = c;
	return c;
}

static int comm_close(struct nb_tcp_comm *c)
{
	if (!c)
		return NB_NET_OK;
	close(c->fd);
	free(c);
	return NB_NET_OK;
}

int nb_net_close_send(void *comm)
{
	return comm_close(comm);
}

int nb_net_close_recv(void *comm)
{
	return comm_close(comm);
}

/* FNV-1a hash, used for addresses. */
static uint64_t hash_bytes(const void *p, size_t n)
{
	const unsigned char *b = p;
	uint64_t h = UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < n; i++)
		h = (h ^ b[i]) * UINT64_C(0x100000001b3);
	return h ? h : 1;
}

static void comm_peer(void *comm, struct nb_net_peer *to)
{
	const struct nb_tcp_comm *c = comm;
	const union nb_tcp_addr *a = &c->peer;

	to->link = c->link;
	to->address = a->any.sa_family == AF_INET6 ? hash_bytes(&a->v6.sin6_addr, 16)
						   : hash_bytes(&a->v4.sin_addr, 4);
	nb_tcp_addr_text(a, to->text, sizeof(to->text));
}

static void comm_set_class(void *comm, int traffic_class)
{
	nb_tcp_set_class(((struct nb_tcp_comm *)comm)->fd, traffic_class);
}

extern const struct nb_net_extension ncclbpfNetExtension_v1;
__attribute__((visibility("default"))) const struct nb_net_extension ncclbpfNetExtension_v1 = {
	.peer = comm_peer,
	.set_class = comm_set_class,
	.counted = nb_tcp_counted,
	.log = nb_tcp_log_to,
};

/* Mark the connection as broken, and log this once. */
static int comm_break(struct nb_tcp_comm *c, int result, const char *why)
{
	const struct request *r = &c->request[c->first % REQUESTS];
	char text[80];

	if (c->error)
		return c->error;
	c->error = result;
	nb_tcp_addr_text(&c->peer, text, sizeof(text));
	nb_tcp_say(true,
		   "net: the connection %s %s is broken after %u messages "
		   "and %zu bytes of the next one: %s",
		   c->send ? "to" : "from", text, c->number, r->moved, why);
	return result;
}

static int comm_break_errno(struct nb_tcp_comm *c, int error)
{
	int result = nb_tcp_result(error);

	if (result == NB_NET_REMOTE)
		nb_tcp_count(NB_NET_LOST);
	return comm_break(c, result, strerror(error));
}

static struct request *comm_current(struct nb_tcp_comm *c)
{
	return &c->request[c->first % REQUESTS];
}

static void comm_complete(struct nb_tcp_comm *c)
{
	comm_current(c)->phase = DONE;
	c->first++;
	c->number++;
	c->head_moved = 0;
}

/* Account for @n bytes of the current message that were sent. */
static void comm_sent(struct nb_tcp_comm *c, struct request *r, size_t n)
{
	size_t head = sizeof(c->head) - c->head_moved;

	if (n < head)
		head = n;
	c->head_moved += head;
	r->moved += n - head;
	if (c->head_moved == sizeof(c->head) && r->moved == r->size)
		comm_complete(c);
}

static int comm_move_send(struct nb_tcp_comm *c, bool *moved)
{
	while (c->first != c->last) {
		struct request *r = comm_current(c);
		struct iovec iov[2];
		struct msghdr m = { .msg_iov = iov, .msg_iovlen = 2 };
		ssize_t n;

		if (!c->head_moved)
			c->head = (struct nb_tcp_head){ r->size, c->number, NB_TCP_HEAD_MAGIC };
		iov[0].iov_base = (char *)&c->head + c->head_moved;
		iov[0].iov_len = sizeof(c->head) - c->head_moved;
		iov[1].iov_base = r->data + r->moved;
		iov[1].iov_len = r->size - r->moved;
		n = sendmsg(c->fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
			return NB_NET_OK;
		if (n < 0)
			return comm_break_errno(c, errno);
		*moved = true;
		comm_sent(c, r, (size_t)n);
	}
	return NB_NET_OK;
}

/* Copy bytes from the read-ahead buffer. Returns how many. */
static size_t comm_take_ahead(struct nb_tcp_comm *c, void *to, size_t want)
{
	size_t have = c->ahead_end - c->ahead_at;

	if (have > want)
		have = want;
	if (have)
		memcpy(to, c->ahead + c->ahead_at, have);
	c->ahead_at += have;
	return have;
}

/* Check the header of a message after all of it has arrived. */
static int comm_check_head(struct nb_tcp_comm *c, struct request *r)
{
	char why[160];

	if (c->head.magic != NB_TCP_HEAD_MAGIC || c->head.number != c->number) {
		nb_tcp_count(NB_NET_GARBAGE);
		return comm_break(c, NB_NET_REMOTE, "the received data is not a message header");
	}
	if (c->head.size > r->posted) {
		nb_tcp_count(NB_NET_OVERSIZED);
		snprintf(why, sizeof(why),
			 "a message has %llu bytes, but the buffer has %zu: "
			 "do the ranks agree about sizes, algorithm and protocol?",
			 (unsigned long long)c->head.size, r->posted);
		return comm_break(c, NB_NET_USAGE, why);
	}
	r->size = (size_t)c->head.size;
	return NB_NET_OK;
}

/* Move the bytes of the read-ahead buffer into requests. */
static int comm_use_ahead(struct nb_tcp_comm *c)
{
	while (c->first != c->last) {
		struct request *r = comm_current(c);
		size_t head = sizeof(c->head) - c->head_moved;

		if (head) {
			c->head_moved += comm_take_ahead(c, (char *)&c->head + c->head_moved, head);
			if (c->head_moved < sizeof(c->head))
				return NB_NET_OK;
			if (comm_check_head(c, r))
				return c->error;
		}
		r->moved += comm_take_ahead(c, r->data + r->moved, r->size - r->moved);
		if (r->moved < r->size)
			return NB_NET_OK;
		comm_complete(c);
	}
	return NB_NET_OK;
}

/*
 * Read once from the socket: first into the message, then into the empty
 * read-ahead buffer.
 */
static ssize_t comm_read(struct nb_tcp_comm *c)
{
	struct request *r = comm_current(c);
	bool inside = c->head_moved == sizeof(c->head);
	size_t rest = inside ? r->size - r->moved : 0;
	struct iovec iov[2] = { { r->data + r->moved, rest }, { c->ahead, AHEAD } };
	struct msghdr m = { .msg_iov = rest ? iov : iov + 1, .msg_iovlen = rest ? 2 : 1 };
	ssize_t n = recvmsg(c->fd, &m, MSG_DONTWAIT);

	if (n <= 0)
		return n;
	if (rest > (size_t)n)
		rest = (size_t)n;
	r->moved += rest;
	c->ahead_at = 0;
	c->ahead_end = (size_t)n - rest;
	return n;
}

static int comm_move_recv(struct nb_tcp_comm *c, bool *moved)
{
	uint32_t first = c->first;

	if (comm_use_ahead(c))
		return c->error;
	while (c->first != c->last) {
		ssize_t n = comm_read(c);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
			break;
		if (n < 0)
			return comm_break_errno(c, errno);
		if (!n) {
			nb_tcp_count(NB_NET_LOST);
			return comm_break(
				c, NB_NET_REMOTE,
				"the peer closed the connection while a message was expected");
		}
		*moved = true;
		if (comm_use_ahead(c))
			return c->error;
	}
	*moved |= first != c->first;
	return NB_NET_OK;
}

/* Check for a stall, because this call made no progress. */
static void comm_check_stall(struct nb_tcp_comm *c)
{
	uint64_t now;
	char text[80];

	if (c->stalled || c->first == c->last || c->idle++ % LOOK)
		return;
	now = nb_clock_system();
	if (!c->moved_ns)
		c->moved_ns = now;
	if (now - c->moved_ns < nb_tcp_conf.stall_ns)
		return;
	c->stalled = true;
	nb_tcp_count(NB_NET_STALLS);
	nb_tcp_addr_text(&c->peer, text, sizeof(text));
	nb_tcp_say(true,
		   "net: no progress on the connection %s %s for %llu ms (message %u, "
		   "%zu of %zu bytes)",
		   c->send ? "to" : "from", text, (unsigned long long)(now - c->moved_ns) / 1000000,
		   c->number, comm_current(c)->moved, comm_current(c)->size);
}

static int comm_move(struct nb_tcp_comm *c)
{
	bool moved = false;
	int rc;

	if (c->error)
		return c->error;
	rc = c->send ? comm_move_send(c, &moved) : comm_move_recv(c, &moved);
	if (moved) {
		c->idle = 0;
		c->moved_ns = 0;
		c->stalled = false;
	} else if (!rc) {
		comm_check_stall(c);
	}
	return rc;
}

/*
 * Returns the next entry of the ring, or NULL if NCCL has yet to see the end of
 * the entry's last request.
 */
static struct request *comm_post(struct nb_tcp_comm *c, void *data, size_t size)
{
	struct request *r = &c->request[c->last % REQUESTS];

	if (r->phase != FREE)
		return NULL;
	r->phase = WAITS;
	r->data = data;
	r->posted = r->size = size;
	r->moved = 0;
	c->last++;
	return r;
}

int nb_net_isend(void *comm, void *data, size_t size, int tag, void *mhandle, void *phandle,
		 void **request)
{
	struct nb_tcp_comm *c = comm;

	(void)tag, (void)mhandle, (void)phandle;
	if (!request)
		return NB_NET_ARGUMENT;
	*request = NULL;
	if (!c || !c->send)
		return NB_NET_ARGUMENT;
	if (c->error)
		return c->error;
	*request = comm_post(c, data, size);
	return *request ? comm_move(c) : NB_NET_OK;
}

int nb_net_irecv(void *comm, int n, void **data, size_t *sizes, int *tags, void **mhandles,
		 void **phandles, void **request)
{
	struct nb_tcp_comm *c = comm;

	(void)tags, (void)mhandles, (void)phandles;
	if (!request)
		return NB_NET_ARGUMENT;
	*request = NULL;
	if (!c || c->send || n != 1 || !data || !sizes)
		return NB_NET_ARGUMENT;
	if (c->error)
		return c->error;
	/* do not read yet, because the data has probably not arrived */
	*request = comm_post(c, data[0], sizes[0]);
	return NB_NET_OK;
}

int nb_net_test(void *request, int *done, int *sizes)
{
	struct request *r = request;
	struct nb_tcp_comm *c;
	int rc = NB_NET_OK;

	if (!done)
		return NB_NET_ARGUMENT;
	*done = 0;
	if (!r || r->phase == FREE)
		return NB_NET_ARGUMENT;
	c = r->comm;
	if (r->phase == WAITS)
		rc = comm_move(c);
	if (r->phase != DONE)
		return rc;
	/* messages that were complete before the connection broke are valid */
	*done = 1;
	if (sizes)
		sizes[0] = (int)r->size;
	r->phase = FREE;
	return NB_NET_OK;
}

int nb_net_iflush(void *comm, int n, void **data, int *sizes, void **mhandles, void **request)
{
	(void)comm, (void)n, (void)data, (void)sizes, (void)mhandles;
	if (!request)
		return NB_NET_ARGUMENT;
	*request = NULL;
	return NB_NET_OK;
}

int nb_net_reg_mr(void *comm, void *data, size_t size, int type, void **mhandle)
{
	if (!mhandle)
		return NB_NET_ARGUMENT;
	*mhandle = NULL;
	(void)type;
	if (!comm || !nb_tcp_readable("net", data, size))
		return NB_NET_ARGUMENT;
	*mhandle = comm; /* any value except NULL, which NCCL would reject */
	return NB_NET_OK;
}

int nb_net_dereg_mr(void *comm, void *mhandle)
{
	(void)mhandle;
	return comm ? NB_NET_OK : NB_NET_ARGUMENT;
}
