// SPDX-License-Identifier: MIT
/*
 * GIN: opening and closing a collComm, and one round of its data path. Posting
 * only queues an operation. Progress sends and receives, so that operations
 * posted in one round share a system call.
 */
#include "plugin/tcp/gin.h"
#include "plugin/tcp/join.h"

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

static void gin_tcp_free(struct nb_gin_tcp *c)
{
	for (int r = 0; c->peer && r < c->nranks; r++)
		if (c->peer[r].fd >= 0)
			close(c->peer[r].fd);
	if (c->epoll >= 0)
		close(c->epoll);
	nb_gin_messages_free(c);
	nb_gin_regions_fini(&c->regions);
	free(c->peer);
	free(c);
}

int nb_gin_connect(const struct nb_gin_mesh *mesh, void **coll)
{
	struct nb_gin_tcp *c;
	int rc = NB_NET_SYSTEM;

	if (!coll)
		return NB_NET_ARGUMENT;
	*coll = NULL;
	if (!mesh->handles || !mesh->listen_comm || mesh->nranks < 1 || mesh->rank < 0 ||
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
		gin_tcp_free(c);
	else
		*coll = c;
	return rc;
}

int nb_gin_reg_mr(void *coll, const struct nb_gin_memory *m, void **mhandle, void **gin_handle)
{
	struct nb_gin_tcp *c = coll;
	int rc;

	if (!c || !mhandle || m->dmabuf)
		return NB_NET_ARGUMENT;
	rc = nb_gin_regions_add(&c->regions, m, mhandle);
	if (gin_handle)
		*gin_handle = *mhandle;
	return rc;
}

int nb_gin_dereg_mr(void *coll, void *mhandle)
{
	struct nb_gin_tcp *c = coll;

	return c ? nb_gin_regions_remove(&c->regions, mhandle) : NB_NET_ARGUMENT;
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

int nb_gin_progress(void *ctx)
{
	struct nb_gin_tcp *c = ctx;

	if (!c)
		return NB_NET_ARGUMENT;
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

int nb_gin_progress_coll(void *coll)
{
	return nb_gin_progress(coll);
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
		nb_gin_progress(c);
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

int nb_gin_close_coll(void *coll)
{
	struct nb_gin_tcp *c = coll;

	if (!c)
		return NB_NET_OK;
	say_goodbye(c);
	gin_tcp_free(c);
	return NB_NET_OK;
}

static void fill_head(struct nb_gin_message *op)
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
static char *own_memory(const struct nb_gin_tcp *c, void *handle, uint64_t off, uint64_t size)
{
	const struct nb_gin_region *r = nb_gin_region(&c->regions, nb_gin_region_number(handle));

	return r && off <= r->size && size <= r->size - off ? r->base + off : NULL;
}

static int own_memory_bad(const struct nb_gin_message *op)
{
	nb_tcp_say(true, "gin: %llu bytes at offset %llu are not in registered memory of this rank",
		   (unsigned long long)op->size,
		   (unsigned long long)(op->kind == NB_GIN_GET ? op->dst_off : op->src_off));
	return NB_NET_ARGUMENT;
}

/* Queue an operation for a remote peer. */
static int post_peer(const struct nb_gin_tcp *c, struct nb_gin_message *op)
{
	struct nb_gin_peer *p = &c->peer[op->rank];
	uint32_t state = GET(p->state);

	if (state == NB_GIN_CLOSED || state == NB_GIN_STALLED)
		nb_tcp_say(true, "gin: rank %d cannot put to rank %u, which %s", c->rank, op->rank,
			   state == NB_GIN_CLOSED ? "has closed its end" : "is stalled");
	if (state != NB_GIN_OPEN || p->fd < 0)
		return NB_NET_REMOTE;
	nb_gin_enqueue(p, op);
	return NB_NET_OK;
}

static int post(struct nb_gin_tcp *c, struct nb_gin_message *op)
{
	int rc;

	op->data = NULL;
	if (op->size && op->kind != NB_GIN_GET)
		op->data = own_memory(c, op->src, op->src_off, op->size);
	if (op->size && !op->data &&
	    (op->kind != NB_GIN_GET || !own_memory(c, op->dst, op->dst_off, op->size)))
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
static bool signal_is_valid(const struct nb_gin_message *op)
{
	if (op->kind != NB_GIN_SIGNAL)
		return op->signal_op == NB_GIN_NO_SIGNAL;
	return op->signal_op > NB_GIN_NO_SIGNAL && op->signal_op < NB_GIN_NSIGNAL_OPS && op->signal;
}

int nb_gin_tcp_post(struct nb_gin_tcp *c, struct nb_gin_message *op)
{
	int rc = GET(c->error);

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

/* ---- NCCL's contexts and requests: a collComm, and an operation ---- */

int nb_gin_create_context(void *coll, const struct nb_gin_config *config, void **ctx,
			  void **dev_handle)
{
	struct nb_gin_tcp *c = coll;

	if (!c || !ctx || config->queue_depth < 0)
		return NB_NET_ARGUMENT;
	*ctx = c;
	if (dev_handle)
		*dev_handle = NULL;
	for (int r = 0; r < c->nranks; r++)
		if (c->peer[r].fd >= 0)
			nb_tcp_set_class(c->peer[r].fd, config->traffic_class);
	return NB_NET_OK;
}

/*
 * A put is done when the operating system has its bytes, so a peer's signal may
 * arrive before the put of another peer that was done before it.
 */
int nb_gin_get_rma_properties(void *coll, struct nb_rma_properties *p)
{
	if (!coll || !p)
		return NB_NET_ARGUMENT;
	*p = (struct nb_rma_properties){ .flushes_all = false };
	return NB_NET_OK;
}

int nb_gin_destroy_context(void *ctx)
{
	(void)ctx;
	return NB_NET_OK;
}

int nb_gin_query_error(void *ctx, bool *failed)
{
	const struct nb_gin_tcp *c = ctx;

	if (!failed)
		return NB_NET_ARGUMENT;
	*failed = c && GET(c->error) != NB_NET_OK;
	return NB_NET_OK;
}

int nb_gin_post(void *ctx, const struct nb_gin_words *words, void **request)
{
	struct nb_gin_tcp *c = ctx;
	struct nb_gin_message *op;
	int rc;

	if (!request)
		return NB_NET_ARGUMENT;
	*request = NULL;
	if (!c)
		return NB_NET_ARGUMENT;
	op = nb_gin_message_new(c);
	if (!op)
		return NB_NET_SYSTEM;
	op->words = *words;
	op->state = NB_GIN_POSTED;
	rc = nb_gin_tcp_post(c, op);
	if (rc || op->kind == NB_GIN_FLUSH)
		nb_gin_message_free(c, op);
	else
		*request = op;
	return rc;
}

int nb_gin_post_coll(void *coll, const struct nb_gin_words *words, void **request)
{
	return nb_gin_post(coll, words, request);
}

int nb_gin_test(void *coll, void *request, int *done)
{
	struct nb_gin_message *op = request;

	if (!coll || !done)
		return NB_NET_ARGUMENT;
	*done = 0;
	if (!op || op->state == NB_GIN_FREE)
		return NB_NET_ARGUMENT;
	if (op->state == NB_GIN_FAILED)
		return op->error;
	if (op->state != NB_GIN_DONE)
		return NB_NET_OK;
	*done = 1;
	nb_gin_message_free(coll, op);
	return NB_NET_OK;
}

/* ---- what NCCL's interface does not tell ---- */

static uint64_t coll_queued(void *coll, uint32_t rank)
{
	const struct nb_gin_tcp *c = coll;

	return GET(c->peer[rank].queued_bytes);
}

static void coll_link(void *coll, uint32_t rank, struct nb_gin_link *l)
{
	static const char *const words[] = { "open", "closed", "stalled", "lost" };
	const struct nb_gin_tcp *c = coll;
	const struct nb_gin_peer *p = &c->peer[rank];
	int offence = GET(p->offence);

	l->state = rank == (uint32_t)c->rank ? "self" : words[GET(p->state)];
	l->offence = offence < 0 ? NULL : nb_gin_offence_word((enum nb_gin_offence)offence);
	l->in_puts = GET(p->in_puts);
	l->in_signals = GET(p->in_signals);
	l->in_bytes = GET(p->in_bytes);
	l->queued_bytes = GET(p->queued_bytes);
	l->text[0] = '\0';
	if (rank != (uint32_t)c->rank)
		nb_tcp_addr_text(&p->addr, l->text, sizeof(l->text));
}

static void coll_watch(void *coll, nb_gin_arrived *arrived, void *arg)
{
	struct nb_gin_tcp *c = coll;

	c->arrived = arrived;
	c->arg = arg;
}

extern const struct nb_gin_extension ncclbpfGinExtension_v1;
__attribute__((visibility("default"))) const struct nb_gin_extension ncclbpfGinExtension_v1 = {
	.region = nb_gin_region_number,
	.queued = coll_queued,
	.link = coll_link,
	.watch = coll_watch,
	.offences = nb_gin_tcp_offences,
};
