// SPDX-License-Identifier: MIT
/*
 * The receiving side. A header is checked completely before any of its data is
 * written; a peer that breaks the protocol loses its connection. Data is read
 * straight into registered memory. A read also takes following messages into a
 * buffer of the collComm, and that buffer is emptied before the next read.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>

#include "plugin/tcp/gin.h"
#include "plugin/runtime/clock.h"
#include "plugin/runtime/relaxed.h"

/*
 * LIMIT: bytes read from one peer before the next peer is read. Data read ahead
 * is copied twice, so LARGE messages are not read ahead: within RECENT messages
 * after a large one, a read takes at most NEAR bytes ahead.
 */
enum { LIMIT = 1 << 20, LARGE = 16 << 10, RECENT = 16, NEAR = 4 << 10 };

static uint64_t offences[NB_GIN_NOFFENCES]; /* accessed atomically */

static const char *const offence_text[] = {
#define OFFENCE(name, word, text) text,
#include "core/defs/gin_offences.h"
};

uint64_t nb_gin_tcp_offences(enum nb_gin_offence what)
{
	return GET(offences[what]);
}

/* End the connection of a peer that broke the protocol. */
static void offend(struct nb_gin_tcp *c, struct nb_gin_peer *p, enum nb_gin_offence what)
{
	char why[200];

	__atomic_fetch_add(&offences[what], 1, __ATOMIC_RELAXED);
	SET(p->offence, (int)what);
	snprintf(why, sizeof(why),
		 "the peer sent %s (message %u, region %u, offset %llu, %llu bytes)",
		 offence_text[what], p->received, p->in.region, (unsigned long long)p->in.offset,
		 (unsigned long long)p->in.size);
	if (GET(p->state) == NB_GIN_CLOSED)
		/*
		 * the peer sent data after its goodbye, so it did not close in
		 * order
		 */
		SET(p->state, NB_GIN_OPEN);
	nb_gin_lose(c, p, why);
}

static bool gin_region_fits(const struct nb_gin_region *r, uint64_t offset, uint64_t size)
{
	return offset <= r->size && size <= r->size - offset;
}

/*
 * Returns the address that a message targets, or NULL with the offence in
 * *@bad.
 */
static char *gin_target_of(const struct nb_gin_tcp *c, uint32_t region, uint64_t offset,
			   uint64_t size, int *bad)
{
	const struct nb_gin_region *r = nb_gin_region(&c->regions, region);

	if (!r)
		*bad = NB_GIN_BAD_REGION;
	else if (!gin_region_fits(r, offset, size))
		*bad = NB_GIN_BAD_BOUNDS;
	else
		return r->base + offset;
	return NULL;
}

static int check_signal(const struct nb_gin_tcp *c, const struct nb_gin_head *h)
{
	const char *at;
	int bad = -1;

	if (h->kind == NB_GIN_PUT && h->signal_op == NB_GIN_NO_SIGNAL)
		return -1;
	if (h->kind != NB_GIN_SIGNAL || h->signal_op == NB_GIN_NO_SIGNAL ||
	    h->signal_op >= NB_GIN_NSIGNAL_OPS)
		return NB_GIN_BAD_SIGNAL;
	at = gin_target_of(c, h->signal_region, h->signal_offset, 8, &bad);
	if (at && (uintptr_t)at % 8)
		bad = NB_GIN_BAD_ALIGNMENT;
	return bad;
}

static int check_put(struct nb_gin_tcp *c, struct nb_gin_peer *p)
{
	int bad = check_signal(c, &p->in);

	if (bad < 0 && p->in.size)
		p->body = gin_target_of(c, p->in.region, p->in.offset, p->in.size, &bad);
	return bad;
}

/*
 * Check the answer to our oldest get. Returns -1 if it is valid, else an enum
 * nb_gin_offence.
 */
static int gin_check_answer(struct nb_gin_tcp *c, struct nb_gin_peer *p)
{
	const struct nb_gin_message *get = p->gets.first;
	int bad = -1;

	if (!get || get->size != p->in.size || get->head.number != (uint32_t)p->in.value)
		return NB_GIN_BAD_ANSWER;
	if (get->size)
		p->body = gin_target_of(c, nb_gin_region_number(get->dst), get->dst_off, get->size,
					&bad);
	return bad;
}

static int check_get(struct nb_gin_tcp *c, struct nb_gin_peer *p)
{
	int bad = -1;

	if (p->answers >= NB_GIN_MAX_GETS)
		return NB_GIN_BAD_GETS;
	if (p->in.size)
		gin_target_of(c, p->in.region, p->in.offset, p->in.size, &bad);
	return bad;
}

/*
 * End the connection if the answer to the oldest get arrives after this rank
 * has deregistered the get's target. This is not an offence of the peer.
 * Returns true if the target is still registered, or if no answer arrives.
 */
static bool get_target_stays(struct nb_gin_tcp *c, struct nb_gin_peer *p)
{
	const struct nb_gin_message *get = p->gets.first;

	if (p->in.kind != NB_GIN_ANSWER || !get || !get->size ||
	    nb_gin_region(&c->regions, nb_gin_region_number(get->dst)))
		return true;
	nb_gin_lose(c, p,
		    "the memory that a get fills was deregistered "
		    "on this rank before the get was done");
	return false;
}

/*
 * Check a complete header. Returns -1 if it is valid, else an enum
 * nb_gin_offence.
 */
static int check_head(struct nb_gin_tcp *c, struct nb_gin_peer *p)
{
	p->body = NULL;
	if (p->in.magic != NB_GIN_MAGIC || p->in.zero)
		return NB_GIN_BAD_HEADER;
	if (p->in.number != p->received)
		return NB_GIN_BAD_NUMBER;
	switch (p->in.kind) {
	case NB_GIN_PUT:
	case NB_GIN_SIGNAL:
		return check_put(c, p);
	case NB_GIN_GET:
		return check_get(c, p);
	case NB_GIN_ANSWER:
		return gin_check_answer(c, p);
	case NB_GIN_REGION:
	case NB_GIN_GOODBYE:
		return -1;
	default:
		return NB_GIN_BAD_KIND;
	}
}

static void apply_signal(struct nb_gin_tcp *c, struct nb_gin_peer *p, const struct nb_gin_head *h,
			 char *at)
{
	struct nb_gin_arrival a = {
		.rank = p->rank,
		.region = h->signal_region,
		.op = h->signal_op,
		.offset = h->signal_offset,
		.value = h->signal_op == NB_GIN_ADD ? h->value : 1,
		.puts = p->since_puts,
		.bytes = p->since_bytes,
		.since_ns = p->since_ns,
	};

	__atomic_fetch_add((uint64_t *)(void *)at, a.value, __ATOMIC_RELEASE);
	ADD(p->in_signals, 1);
	p->since_puts = p->since_bytes = p->since_ns = 0;
	if (c->arrived)
		c->arrived(c->arg, &a);
}

/* Count a put whose data has arrived, then apply its signal. */
static int apply_put(struct nb_gin_tcp *c, struct nb_gin_peer *p, const struct nb_gin_head *h)
{
	int bad = -1;
	char *at;

	if (h->size) {
		if (!p->since_puts++)
			p->since_ns = nb_clock_system();
		p->since_bytes += h->size;
		ADD(p->in_puts, 1);
		ADD(p->in_bytes, h->size);
	}
	if (h->kind != NB_GIN_SIGNAL)
		return -1;
	/* another thread may have closed the region since the header arrived */
	at = gin_target_of(c, h->signal_region, h->signal_offset, 8, &bad);
	if (at)
		apply_signal(c, p, h, at);
	return bad;
}

static int apply_answer(struct nb_gin_peer *p)
{
	struct nb_gin_message *get = p->gets.first;

	p->gets.first = get->next;
	if (!p->gets.first)
		p->gets.last = NULL;
	get->state = NB_GIN_DONE;
	return -1;
}

static int answer_get(struct nb_gin_tcp *c, struct nb_gin_peer *p)
{
	struct nb_gin_message *op = nb_gin_message_new(c);
	int bad = -1;

	if (!op)
		return NB_GIN_BAD_GETS;
	op->kind = NB_GIN_ANSWER;
	if (p->in.size)
		op->data = gin_target_of(c, p->in.region, p->in.offset, p->in.size, &bad);
	op->src = nb_gin_region_handle(p->in.region);
	op->head.region = NB_GIN_NO_REGION;
	op->head.size = p->in.size;
	op->head.value = p->in.number;
	p->answers++;
	nb_gin_enqueue(p, op);
	return bad;
}

/*
 * Warn if a window has different sizes on two ranks: a put may then fit on the
 * peer and not here. Warn only once for each peer, so that a peer cannot fill
 * the log.
 */
static void compare_region(struct nb_gin_tcp *c, struct nb_gin_peer *p)
{
	const struct nb_gin_region *r = nb_gin_region(&c->regions, p->in.region);

	if (!r || r->size == p->in.size || p->mismatch)
		return;
	p->mismatch = true;
	nb_tcp_say(true,
		   "gin: registration %u has %llu bytes on rank %d and %llu on rank %u: "
		   "do the ranks register the same windows in one order?",
		   r->number, (unsigned long long)r->size, c->rank, (unsigned long long)p->in.size,
		   p->rank);
}

/*
 * Apply a complete message. Returns -1 if it is valid, else an enum
 * nb_gin_offence.
 */
static int apply(struct nb_gin_tcp *c, struct nb_gin_peer *p)
{
	switch (p->in.kind) {
	case NB_GIN_PUT:
	case NB_GIN_SIGNAL:
		return apply_put(c, p, &p->in);
	case NB_GIN_GET:
		return answer_get(c, p);
	case NB_GIN_ANSWER:
		return apply_answer(p);
	case NB_GIN_REGION:
		compare_region(c, p);
		return -1;
	default: /* check_head refuses all other kinds, so this is a goodbye */
		SET(p->state, NB_GIN_CLOSED);
		return -1;
	}
}

/* Returns how many bytes of data follow the current message's header. */
static uint64_t body_size(const struct nb_gin_peer *p)
{
	return p->body ? p->in.size : 0;
}

static bool message_end(struct nb_gin_tcp *c, struct nb_gin_peer *p)
{
	int bad = apply(c, p);

	p->head_got = 0;
	p->body_got = 0;
	p->body = NULL;
	if (bad >= 0) {
		offend(c, p, (enum nb_gin_offence)bad);
		return false;
	}
	p->received++;
	return true;
}

/*
 * Check and start the message whose header has arrived. Returns false if the
 * connection has ended.
 */
static bool message_begin(struct nb_gin_tcp *c, struct nb_gin_peer *p)
{
	int bad;

	if (!get_target_stays(c, p))
		return false;
	bad = check_head(c, p);
	if (bad >= 0) {
		offend(c, p, (enum nb_gin_offence)bad);
		return false;
	}
	if (body_size(p) >= LARGE)
		p->since_large = 0;
	else if (p->since_large < RECENT)
		p->since_large++;
	return body_size(p) || message_end(c, p);
}

/*
 * Apply @n bytes of the read-ahead buffer. Returns false if the connection has
 * ended.
 */
static bool consume(struct nb_gin_tcp *c, struct nb_gin_peer *p, const char *from, size_t n)
{
	while (n) {
		bool inside = p->head_got == sizeof(p->in);
		uint64_t rest = inside ? body_size(p) - p->body_got : sizeof(p->in) - p->head_got;
		size_t take = rest < n ? (size_t)rest : n;

		memcpy(inside ? p->body + p->body_got : (char *)&p->in + p->head_got, from, take);
		from += take;
		n -= take;
		if (inside)
			p->body_got += take;
		else
			p->head_got += take;
		if (take < rest)
			return true;
		if (!(inside ? message_end(c, p) : message_begin(c, p)))
			return false;
	}
	return true;
}

/*
 * Returns true if the target of a partly received put or answer is still
 * registered.
 */
static bool target_stays(struct nb_gin_tcp *c, struct nb_gin_peer *p)
{
	if (!p->body)
		return true;
	if (p->in.kind == NB_GIN_ANSWER)
		return get_target_stays(c, p);
	if (nb_gin_region(&c->regions, p->in.region))
		return true;
	offend(c, p, NB_GIN_BAD_REGION);
	return false;
}

/* Returns how many bytes a read may take beyond the current message. */
static size_t ahead_size(const struct nb_gin_peer *p)
{
	return p->since_large < RECENT ? (size_t)NEAR : (size_t)NB_GIN_AHEAD;
}

/*
 * Read once from the socket. Returns the number of bytes, 0 if there are none,
 * -1 if the connection has ended.
 */
static ssize_t receive_some(struct nb_gin_tcp *c, struct nb_gin_peer *p)
{
	uint64_t rest = p->body ? p->in.size - p->body_got : 0;
	struct iovec iov[2] = { { p->body ? p->body + p->body_got : NULL, rest },
				{ c->ahead, ahead_size(p) } };
	struct msghdr m = { .msg_iov = rest ? iov : iov + 1, .msg_iovlen = rest ? 2 : 1 };
	ssize_t n = recvmsg(p->fd, &m, MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
		return 0;
	if (n < 0 && errno == EINTR)
		return 0;
	if (n <= 0) {
		nb_gin_lose(c, p,
			    n ? strerror(errno)
			      : "the peer closed the connection without a goodbye");
		return -1;
	}
	if (rest > (uint64_t)n)
		rest = (uint64_t)n;
	p->body_got += rest;
	if (rest && p->body_got == p->in.size && !message_end(c, p))
		return -1;
	if (!consume(c, p, c->ahead, (size_t)n - rest))
		return -1;
	return n;
}

bool nb_gin_receive(struct nb_gin_tcp *c, struct nb_gin_peer *p)
{
	ssize_t budget = LIMIT, n = 1;

	if (p->fd < 0 || !target_stays(c, p))
		return false;
	while (budget > 0 && n > 0) {
		uint64_t asked = ahead_size(p) + body_size(p) - p->body_got;

		n = receive_some(c, p);
		budget -= n;
		/*
		 * a read that returns fewer bytes than asked has emptied the
		 * socket
		 */
		if (n > 0 && (uint64_t)n < asked && !p->body)
			return false;
	}
	return n > 0;
}

static int self_bad(const struct nb_gin_message *op, int bad)
{
	nb_tcp_say(true, "gin: refused on our own rank: %s (%llu bytes)", offence_text[bad],
		   (unsigned long long)op->size);
	return NB_NET_ARGUMENT;
}

int nb_gin_apply_self(struct nb_gin_tcp *c, struct nb_gin_message *op)
{
	struct nb_gin_peer *p = &c->peer[c->rank];
	int bad = -1;

	op->head.kind = (uint8_t)op->kind;
	if (op->kind == NB_GIN_GET) {
		int why = NB_GIN_BAD_REGION;
		char *to = gin_target_of(c, nb_gin_region_number(op->dst), op->dst_off, op->size,
					 &why);
		char *from = gin_target_of(c, nb_gin_region_number(op->src), op->src_off, op->size,
					   &why);

		if (op->size && (!to || !from))
			return self_bad(op, why);
		if (op->size)
			memmove(to, from, op->size);
		return NB_NET_OK;
	}
	p->in = op->head;
	bad = check_put(c, p);
	if (bad < 0 && op->size)
		memmove(p->body, op->data, op->size);
	p->body = NULL;
	if (bad < 0)
		bad = apply_put(c, p, &op->head);
	return bad < 0 ? NB_NET_OK : self_bad(op, bad);
}
