// SPDX-License-Identifier: MIT
/*
 * Functions of the TCP transport: opening and closing a collComm, and one round
 * of its data path. Posting only queues an operation. Progress sends and
 * receives, so that operations posted in one round share a system call.
 */
#include "plugin/tcp/gin.h"

#include <stdlib.h>
#include <string.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <linux/sockios.h>
#include <unistd.h>

#include "plugin/runtime/clock.h"
#include "plugin/runtime/relaxed.h"

enum { READY = 64 };

struct nb_gin_tcp_conf nb_gin_tcp_conf = {
	.stall_ns = UINT64_C(10000000000),
	.connect_ns = UINT64_C(60000000000),
	.close_ns = UINT64_C(1000000000),
	.queue = 256,
};

static void coll_free(struct nb_gin_tcp *c)
{
	for (int r = 0; c->peer && r < c->nranks; r++)
		if (c->peer[r].fd >= 0)
			close(c->peer[r].fd);
	if (c->epoll >= 0)
		close(c->epoll);
	nb_gin_answers_free(c);
	nb_gin_regions_fini(&c->regions);
	free(c->peer);
	free(c);
}

static int tcp_finalize(void *ctx)
{
	free(ctx);
	return NB_NET_OK;
}

static int tcp_connect(const struct nb_gin_mesh *mesh, void **coll)
{
	struct nb_gin_tcp *c;
	int rc = NB_NET_SYSTEM;

	*coll = NULL;
	if (!mesh->listen_comm || mesh->nranks < 1 || mesh->rank < 0 ||
	    mesh->rank >= mesh->nranks)
		return NB_NET_ARGUMENT;
	c = calloc(1, sizeof(*c));
	if (!c)
		return NB_NET_SYSTEM;
	c->nranks = mesh->nranks;
	c->rank = mesh->rank;
	c->epoll = -1;
	c->arrived = mesh->arrived;
	c->arg = mesh->arg;
	nb_gin_regions_init(&c->regions);
	c->peer = calloc((size_t)c->nranks, sizeof(*c->peer));
	for (int r = 0; c->peer && r < c->nranks; r++) {
		c->peer[r].fd = -1;
		c->peer[r].rank = (uint32_t)r;
		c->peer[r].offence = -1;
	}
	if (c->peer)
		rc = nb_gin_tcp_join(c, mesh);
	if (rc)
		coll_free(c);
	else
		*coll = c;
	return rc;
}

static int tcp_reg_mr(void *coll, const struct nb_gin_memory *m, void **mhandle,
		      void **gin_handle)
{
	struct nb_gin_tcp *c = coll;
	int rc = nb_gin_regions_add(&c->regions, m, mhandle);

	if (gin_handle)
		*gin_handle = *mhandle;
	return rc;
}

static int tcp_dereg_mr(void *coll, void *mhandle)
{
	struct nb_gin_tcp *c = coll;

	return nb_gin_regions_remove(&c->regions, mhandle);
}

static void receive_ready(struct nb_gin_tcp *c)
{
	struct epoll_event e[READY];
	int n;

	if (c->epoll < 0) {
		for (int r = 0; r < c->nranks; r++)
			nb_gin_receive(c, &c->peer[r]);
		return;
	}
	n = epoll_wait(c->epoll, e, READY, 0);
	for (int i = 0; i < n; i++)
		nb_gin_receive(c, &c->peer[e[i].data.u32]);
}

/* Send the queued messages. Returns true if a message was sent. */
static bool send_queued(struct nb_gin_tcp *c)
{
	bool sent = false;
	uint32_t regions = __atomic_load_n(&c->regions.next, __ATOMIC_ACQUIRE);

	for (int r = 0; r < c->nranks; r++) {
		struct nb_gin_peer *p = &c->peer[r];

		if (p->fd < 0)
			continue;
		if (p->announced < regions)
			nb_gin_announce(c, p);
		if (!p->queue.first)
			continue;
		nb_gin_send(c, p);
		sent = true;
	}
	return sent;
}

static int tcp_progress(void *coll, void *ctx)
{
	struct nb_gin_tcp *c = coll;

	(void)ctx;
	nb_gin_enter(&c->regions);
	/*
	 * The peer cannot have answered a message that was just sent, so this
	 * call only sends. The next call also receives.
	 */
	c->only_sent = send_queued(c) && !c->only_sent;
	if (!c->only_sent)
		receive_ready(c);
	nb_gin_leave(&c->regions);
	/*
	 * NCCL ignores this result in all releases, so post and query_error
	 * return the error as well
	 */
	return GET(c->error);
}

/*
 * Returns true if the peer's kernel has not acknowledged all bytes. If the
 * peer sends to a closed connection, our kernel discards those bytes.
 */
static bool is_unacknowledged(const struct nb_gin_peer *p)
{
	int n = 0;

	return !ioctl(p->fd, SIOCOUTQ, &n) && n > 0;
}

/*
 * Close a collComm in order: send what is queued, then a goodbye to each peer.
 */
static void say_goodbye(struct nb_gin_tcp *c)
{
	uint64_t deadline = nb_clock_system() + nb_gin_tcp_conf.close_ns;
	bool busy = true;

	/*
	 * apply data that has arrived, because closing a socket with unread
	 * data resets the stream
	 */
	while (busy && nb_clock_system() < deadline) {
		tcp_progress(c, NULL);
		busy = c->only_sent;
		for (int r = 0; r < c->nranks; r++) {
			struct nb_gin_peer *p = &c->peer[r];

			if (p->fd < 0)
				continue;
			if (!p->queue.first && p->notice.kind != NB_GIN_GOODBYE)
				nb_gin_goodbye(p);
			busy |= p->queue.first || is_unacknowledged(p);
		}
		if (busy)
			sched_yield();
	}
}

static int tcp_close(void *coll)
{
	struct nb_gin_tcp *c = coll;

	if (!c)
		return NB_NET_OK;
	say_goodbye(c);
	coll_free(c);
	return NB_NET_OK;
}

static void fill_head(struct nb_gin_op *op)
{
	bool get = op->kind == NB_GIN_GET;

	op->head = (struct nb_gin_head){
		.magic = NB_GIN_MAGIC,
		.signal_op = (uint8_t)op->signal_op,
		.region = nb_gin_region_number(get ? op->src : op->dst),
		.signal_region = nb_gin_region_number(op->signal),
		.context = op->context,
		.offset = get ? op->src_off : op->dst_off,
		.size = op->size,
		.signal_offset = op->signal_off,
		.value = op->value,
	};
}

/*
 * Returns the address of registered memory of this rank, or NULL if the range
 * is not registered.
 */
static char *own_memory(const struct nb_gin_tcp *c, void *handle, uint64_t off,
			uint64_t size)
{
	const struct nb_gin_region *r =
		nb_gin_region(&c->regions, nb_gin_region_number(handle));

	return r && off <= r->size && size <= r->size - off ? r->base + off
							    : NULL;
}

static int own_memory_bad(const struct nb_gin_op *op)
{
	nb_tcp_say(
		true,
		"gin: %llu bytes at offset %llu are not in registered memory of this rank",
		(unsigned long long)op->size,
		(unsigned long long)(op->kind == NB_GIN_GET ? op->dst_off
							    : op->src_off));
	return NB_NET_ARGUMENT;
}

/* Queue an operation for a remote peer. */
static int post_peer(const struct nb_gin_tcp *c, struct nb_gin_op *op)
{
	struct nb_gin_peer *p = &c->peer[op->rank];
	uint32_t state = GET(p->state);

	if (state == NB_GIN_CLOSED || state == NB_GIN_STALLED)
		nb_tcp_say(true, "gin: rank %d cannot put to rank %u, which %s",
			   c->rank, op->rank,
			   state == NB_GIN_CLOSED ? "has closed its end"
						  : "is stalled");
	if (state != NB_GIN_OPEN || p->fd < 0)
		return NB_NET_REMOTE;
	nb_gin_enqueue(p, op);
	return NB_NET_OK;
}

static int post(struct nb_gin_tcp *c, struct nb_gin_op *op)
{
	int rc;

	op->data = NULL;
	if (op->size && op->kind != NB_GIN_GET)
		op->data = own_memory(c, op->src, op->src_off, op->size);
	if (op->size && !op->data &&
	    (op->kind != NB_GIN_GET ||
	     !own_memory(c, op->dst, op->dst_off, op->size)))
		return own_memory_bad(op);
	fill_head(op);
	if (op->rank != (uint32_t)c->rank)
		return post_peer(c, op);
	rc = nb_gin_apply_self(c, op);
	op->state = NB_GIN_DONE;
	return rc;
}

/*
 * Returns true if a signal's arguments are valid. The peer would end the
 * connection because of an invalid signal.
 */
static bool signal_is_valid(const struct nb_gin_op *op)
{
	if (op->kind != NB_GIN_SIGNAL)
		return op->signal_op == NB_GIN_NO_SIGNAL;
	return op->signal_op > NB_GIN_NO_SIGNAL &&
	       op->signal_op < NB_GIN_NSIGNAL_OPS && op->signal;
}

static int tcp_post(void *coll, void *ctx, struct nb_gin_op *op)
{
	struct nb_gin_tcp *c = coll;
	int rc;

	(void)ctx;
	rc = GET(c->error);
	if (rc)
		return rc;
	if (op->rank >= (uint32_t)c->nranks || !signal_is_valid(op))
		return NB_NET_ARGUMENT;
	if (op->kind == NB_GIN_FLUSH) {
		/* the data of a completed get is visible already */
		op->state = NB_GIN_DONE;
		return NB_NET_OK;
	}
	nb_gin_enter(&c->regions);
	rc = post(c, op);
	nb_gin_leave(&c->regions);
	return rc;
}

static int tcp_test(void *coll, struct nb_gin_op *op)
{
	(void)coll;
	return op->state == NB_GIN_FAILED ? op->error : NB_NET_OK;
}

static int tcp_query_error(void *coll, void *ctx, bool *failed)
{
	const struct nb_gin_tcp *c = coll;

	(void)ctx;
	*failed = GET(c->error) != NB_NET_OK;
	return NB_NET_OK;
}

static uint64_t tcp_queued(void *coll, uint32_t rank)
{
	const struct nb_gin_tcp *c = coll;

	return GET(c->peer[rank].queued_bytes);
}

static void tcp_link(void *coll, uint32_t rank, struct nb_gin_link *l)
{
	static const char *const words[] = { "open", "closed", "stalled",
					     "lost" };
	const struct nb_gin_tcp *c = coll;
	const struct nb_gin_peer *p = &c->peer[rank];
	int offence = GET(p->offence);

	l->state = rank == (uint32_t)c->rank ? "self" : words[GET(p->state)];
	l->offence =
		offence < 0 ? NULL
			    : nb_gin_offence_word((enum nb_gin_offence)offence);
	l->in_puts = GET(p->in_puts);
	l->in_signals = GET(p->in_signals);
	l->in_bytes = GET(p->in_bytes);
	l->queued_bytes = GET(p->queued_bytes);
	l->text[0] = '\0';
	if (rank != (uint32_t)c->rank)
		nb_tcp_addr_text(&p->addr, l->text, sizeof(l->text));
}

const struct nb_gin_ops nb_gin_tcp_ops = {
	.init = nb_gin_tcp_init,
	.finalize = tcp_finalize,
	.devices = nb_tcp_devices,
	.get_properties = nb_gin_tcp_properties,
	.listen = nb_gin_tcp_listen,
	.connect = tcp_connect,
	.reg_mr = tcp_reg_mr,
	.dereg_mr = tcp_dereg_mr,
	.close_coll = tcp_close,
	.close_listen = nb_gin_tcp_close_listen,
	.post = tcp_post,
	.test = tcp_test,
	.progress = tcp_progress,
	.query_error = tcp_query_error,
	.region = nb_gin_region_number,
	.queued = tcp_queued,
	.link = tcp_link,
	.takes_class = true,
};
