// SPDX-License-Identifier: MIT
/*
 * The sending side. Each peer has a queue of operations, which become messages
 * in queue order. One system call sends as many messages as fit. An operation
 * is complete when the kernel has accepted all of its bytes.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "plugin/tcp/gin.h"
#include "plugin/runtime/clock.h"
#include "plugin/runtime/relaxed.h"

/*
 * BATCH: messages in one system call. LIMIT: bytes sent in one round. LOOK:
 * rounds between two reads of the clock.
 */
enum { BATCH = 64, LIMIT = 4 << 20, LOOK = 1024, OPS = 64, DRAIN = 64 };

static const size_t HEAD = sizeof(struct nb_gin_head);

struct message_block {
	struct message_block *next;
	struct nb_gin_message op[OPS];
};

struct nb_gin_message *nb_gin_message_new(struct nb_gin_tcp *c)
{
	struct nb_gin_message *op;

	if (!c->spare) {
		struct message_block *b = calloc(1, sizeof(*b));

		if (!b)
			return NULL;
		b->next = c->blocks;
		c->blocks = b;
		for (int i = 0; i < OPS; i++) {
			b->op[i].next = c->spare;
			c->spare = &b->op[i];
		}
	}
	op = c->spare;
	c->spare = op->next;
	memset(op, 0, sizeof(*op));
	return op;
}

void nb_gin_message_free(struct nb_gin_tcp *c, struct nb_gin_message *op)
{
	op->state = NB_GIN_FREE;
	op->next = c->spare;
	c->spare = op;
}

void nb_gin_messages_free(struct nb_gin_tcp *c)
{
	while (c->blocks) {
		struct message_block *b = c->blocks;

		c->blocks = b->next;
		free(b);
	}
	c->spare = NULL;
}

static void queue_append(struct nb_gin_queue *q, struct nb_gin_message *op)
{
	op->next = NULL;
	if (q->last)
		q->last->next = op;
	else
		q->first = op;
	q->last = op;
}

static struct nb_gin_message *queue_take(struct nb_gin_queue *q)
{
	struct nb_gin_message *op = q->first;

	q->first = op->next;
	if (!q->first)
		q->last = NULL;
	return op;
}

/* Returns how many bytes of data follow the message's header. */
static uint64_t body_of(const struct nb_gin_message *op)
{
	return op->data ? op->head.size : 0;
}

void nb_gin_enqueue(struct nb_gin_peer *p, struct nb_gin_message *op)
{
	op->state = NB_GIN_POSTED;
	op->moved = 0;
	op->head.magic = NB_GIN_MAGIC;
	op->head.number = p->sent++;
	op->head.kind = (uint8_t)op->kind;
	queue_append(&p->queue, op);
	ADD(p->queued_bytes, HEAD + body_of(op));
}

void nb_gin_announce(struct nb_gin_tcp *c, struct nb_gin_peer *p)
{
	const struct nb_gin_region *r;
	struct nb_gin_message *op = &p->notice;

	if (op->state == NB_GIN_POSTED || GET(p->state) != NB_GIN_OPEN)
		return;
	while (p->announced < __atomic_load_n(&c->regions.next, __ATOMIC_ACQUIRE)) {
		r = nb_gin_region(&c->regions, p->announced++);
		if (!r)
			/* the region was closed before its announcement */
			continue;
		memset(op, 0, sizeof(*op));
		op->kind = NB_GIN_REGION;
		op->head.region = r->number;
		op->head.size = r->size;
		nb_gin_enqueue(p, op);
		return;
	}
}

void nb_gin_goodbye(struct nb_gin_peer *p)
{
	struct nb_gin_message *op = &p->notice;

	memset(op, 0, sizeof(*op));
	op->kind = NB_GIN_GOODBYE;
	nb_gin_enqueue(p, op);
}

static void op_finish(struct nb_gin_message *op, int error)
{
	op->error = error;
	op->state = error ? NB_GIN_FAILED : NB_GIN_DONE;
}

static void fail_all(struct nb_gin_peer *p, int error)
{
	while (p->queue.first)
		op_finish(queue_take(&p->queue), error);
	while (p->gets.first)
		op_finish(queue_take(&p->gets), error);
	SET(p->queued_bytes, 0);
}

void nb_gin_lose(struct nb_gin_tcp *c, struct nb_gin_peer *p, const char *why)
{
	char text[80];

	if (p->fd < 0)
		return;
	nb_tcp_addr_text(&p->addr, text, sizeof(text));
	close(p->fd);
	p->fd = -1;
	if (GET(p->state) == NB_GIN_CLOSED) {
		fail_all(p, NB_NET_REMOTE);
		return;
	}
	SET(p->state, NB_GIN_LOST);
	fail_all(p, NB_NET_REMOTE);
	if (!GET(c->error))
		SET(c->error, NB_NET_REMOTE);
	nb_tcp_say(true,
		   "gin: rank %d lost the connection to rank %u (%s), communicator %llx: %s. "
		   "The next put fails",
		   c->rank, p->rank, text, (unsigned long long)c->comm_id, why);
}

/*
 * A message waits while the peer does not read. Meanwhile the memory that it
 * sends may be deregistered, and used again. Returns true if the memory is
 * still registered.
 */
static bool memory_stays(const struct nb_gin_tcp *c, const struct nb_gin_message *op)
{
	return !op->data || nb_gin_region(&c->regions, nb_gin_region_number(op->src));
}

/*
 * End the connection because the first message's memory was deregistered. If
 * the message were skipped, a later signal could arrive without an earlier put.
 */
static void memory_gone(struct nb_gin_tcp *c, struct nb_gin_peer *p)
{
	nb_gin_lose(c, p,
		    p->queue.first->kind == NB_GIN_ANSWER
			    ? "the memory that the peer's get reads was deregistered on this rank"
			    : "the memory that a put reads was deregistered "
			      "on this rank before the put was done");
}

/*
 * Fill a vector with the next messages, the first of which may be partly sent.
 * Returns 0 if the first message's memory was deregistered.
 */
static size_t fill_vector(const struct nb_gin_tcp *c, struct nb_gin_message *op, struct iovec *iov)
{
	size_t n = 0;

	for (size_t i = 0; op && i < BATCH && memory_stays(c, op); op = op->next, i++) {
		uint64_t body = op->moved > HEAD ? op->moved - HEAD : 0;

		if (op->moved < HEAD) {
			iov[n].iov_base = (char *)&op->head + op->moved;
			iov[n++].iov_len = HEAD - op->moved;
		}
		if (body_of(op) > body) {
			iov[n].iov_base = op->data + body;
			iov[n++].iov_len = body_of(op) - body;
		}
	}
	return n;
}

static void message_sent(struct nb_gin_tcp *c, struct nb_gin_peer *p)
{
	struct nb_gin_message *op = queue_take(&p->queue);

	if (op->kind == NB_GIN_GET) {
		queue_append(&p->gets, op);
		return;
	}
	if (op->kind == NB_GIN_ANSWER) {
		p->answers--;
		nb_gin_message_free(c, op);
		return;
	}
	op_finish(op, NB_NET_OK);
}

static void bytes_sent(struct nb_gin_tcp *c, struct nb_gin_peer *p, uint64_t n)
{
	ADD(p->queued_bytes, -n);
	while (n) {
		struct nb_gin_message *op = p->queue.first;
		uint64_t rest = HEAD + body_of(op) - op->moved;

		if (n < rest) {
			op->moved += n;
			return;
		}
		n -= rest;
		message_sent(c, p);
	}
}

/* Nothing was sent: mark the peer as stalled after conf.stall_ns. */
static void check_stall(struct nb_gin_tcp *c, struct nb_gin_peer *p)
{
	uint64_t now;
	char text[80];

	if (p->idle++ % LOOK || GET(p->state) != NB_GIN_OPEN)
		return;
	now = nb_clock_system();
	if (!p->moved_ns)
		p->moved_ns = now;
	if (now - p->moved_ns < nb_gin_tcp_conf.stall_ns)
		return;
	SET(p->state, NB_GIN_STALLED);
	nb_tcp_addr_text(&p->addr, text, sizeof(text));
	nb_tcp_say(true,
		   "gin: rank %u (%s) has taken nothing from rank %d for %llu ms; %llu bytes wait. "
		   "Puts to this rank fail until it takes data",
		   p->rank, text, c->rank, (unsigned long long)(now - p->moved_ns) / 1000000,
		   (unsigned long long)GET(p->queued_bytes));
}

static void sent_some(struct nb_gin_tcp *c, struct nb_gin_peer *p, ssize_t n)
{
	p->idle = 0;
	p->moved_ns = 0;
	if (GET(p->state) == NB_GIN_STALLED)
		SET(p->state, NB_GIN_OPEN);
	bytes_sent(c, p, (uint64_t)n);
}

void nb_gin_send(struct nb_gin_tcp *c, struct nb_gin_peer *p)
{
	ssize_t budget = LIMIT;

	while (p->queue.first && p->fd >= 0 && budget > 0) {
		struct iovec iov[2 * BATCH];
		struct msghdr m = { .msg_iov = iov };
		ssize_t n;

		m.msg_iovlen = fill_vector(c, p->queue.first, iov);
		if (!m.msg_iovlen) {
			memory_gone(c, p);
			return;
		}
		n = sendmsg(p->fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n > 0) {
			budget -= n;
			sent_some(c, p, n);
			continue;
		}
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
			check_stall(c, p);
			return;
		}
		/*
		 * Read what the peer sent before it closed, such as a
		 * goodbye. A peer that lives and goes on sending is lost too.
		 */
		n = errno;
		for (int i = 0; i < DRAIN && nb_gin_receive(c, p); i++)
			;
		nb_gin_lose(c, p, strerror((int)n));
		return;
	}
}
