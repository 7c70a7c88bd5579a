// SPDX-License-Identifier: MIT
/*
 * GIN: instances, properties, listeners, and the connections between all ranks
 * of a collComm. A rank dials every higher rank and takes lower ranks at its
 * door. Connect waits until every peer has answered or its time is over, and
 * then names the missing ranks.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "core/base/ascii.h"
#include "plugin/runtime/clock.h"
#include "plugin/tcp/gin.h"
#include "plugin/tcp/join.h"

/*
 * FEW: up to this number of peers, no epoll is used. TURN_MS: longest wait for
 * a socket event while connecting. MOST: sockets that one poll looks at.
 */
enum { FEW = 4, TURN_MS = 50, MOST = NB_TCP_GUESTS + 1 };

struct instance {
	uint64_t comm_id;
};

/* The connection to another rank. */
struct joining {
	struct nb_tcp_dial dial; /* not used for lower ranks */
	int fd;			 /* -1: not yet made */
	union nb_tcp_addr addr;
};

struct join {
	struct nb_gin_tcp *c;
	struct nb_tcp_door *door;
	struct joining *peer;
	int missing;
	uint64_t deadline;
};

static void read_ms(const char *name, uint64_t *ns)
{
	int64_t ms = nb_tcp_setting(name);

	if (ms >= 0)
		*ns = (uint64_t)ms * 1000000;
}

static void read_settings(void)
{
	int64_t wanted = nb_tcp_setting("NCCLBPF_GIN_QUEUE");

	read_ms("NCCLBPF_GIN_CONNECT_MS", &nb_gin_tcp_conf.connect_ns);
	read_ms("NCCLBPF_GIN_STALL_MS", &nb_gin_tcp_conf.stall_ns);
	if (wanted < 0)
		return;
	/* NCCL requires a queue length that is a power of two */
	nb_gin_tcp_conf.queue = 32;
	while (nb_gin_tcp_conf.queue * 2 <= wanted)
		nb_gin_tcp_conf.queue *= 2;
}

/*
 * Returns true if the user wants GIN over TCP. NCCL also looks for GIN in the
 * library of its net plugin, from 2.29.7 on before its own InfiniBand
 * transport.
 */
static bool gin_asked_for(void)
{
	static const struct {
		const char *variable, *off;
	} asks[] = { { "NCCL_GIN_PLUGIN", "none" },
		     { "NCCL_RMA_PLUGIN", "none" },
		     { "NCCLBPF_GIN", "off" },
		     { "NCCLBPF_CHAIN_GIN", "none" } };

	for (size_t i = 0; i < sizeof(asks) / sizeof(asks[0]); i++) {
		const char *v = getenv(asks[i].variable);

		if (v && *v && !nb_same_word(v, asks[i].off))
			return true;
	}
	return false;
}

int nb_gin_init(enum nb_gin_face face, void **ctx, uint64_t comm_id, nb_net_logger *logger,
		bool usable)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct instance *i;

	(void)face, (void)logger, (void)usable;
	pthread_once(&once, read_settings);
	if (!ctx)
		return NB_NET_OK;
	*ctx = NULL;
	if (!gin_asked_for()) /* without devices NCCL calls no finalize */
		return NB_NET_OK;
	*ctx = i = calloc(1, sizeof(*i));
	if (!i)
		return NB_NET_SYSTEM;
	i->comm_id = comm_id;
	return NB_NET_OK;
}

int nb_gin_finalize(void *ctx)
{
	free(ctx);
	return NB_NET_OK;
}

int nb_gin_devices(enum nb_gin_face face, int *n)
{
	(void)face;
	if (gin_asked_for())
		return nb_net_devices(n);
	if (!n)
		return NB_NET_ARGUMENT;
	*n = 0;
	return NB_NET_OK;
}

int nb_gin_get_properties(enum nb_gin_face face, int dev, struct nb_net_props *p)
{
	int rc = nb_net_get_properties(dev, p);

	(void)face;
	if (rc)
		return rc;
	/* without this bit NCCL does not use a plugin for GIN */
	p->ptr_support = NB_NET_HOST_MEMORY | NB_NET_CUDA_MEMORY;
	/* NCCL's queue has 32 entries for each receive of max_recvs */
	p->max_recvs = nb_gin_tcp_conf.queue / 32;
	p->device_type = NB_GIN_PROXY;
	p->max_p2p_bytes = p->max_coll_bytes = (size_t)1 << 57;
	return NB_NET_OK;
}

int nb_gin_close_listen(void *listen_comm)
{
	return nb_tcp_close_listen(listen_comm);
}

int nb_gin_listen(enum nb_gin_face face, void *ctx, int dev, void *handle, void **listen_comm)
{
	/*
	 * @dev counts the devices of NCCL's net plugin, which may have more
	 * than this one
	 */
	const struct nb_tcp_dev *d = nb_tcp_dev(dev) ? nb_tcp_dev(dev) : nb_tcp_dev(0);
	struct nb_tcp_listener *l;
	int rc;

	(void)face;
	if (!d || dev < 0 || !handle || !listen_comm)
		return NB_NET_ARGUMENT;
	rc = nb_tcp_listen(&l, "gin", d, handle);
	if (l)
		l->comm_id = ctx ? ((struct instance *)ctx)->comm_id : 0;
	*listen_comm = l;
	return rc;
}

static void gin_name_missing(const struct join *j, const char *why)
{
	char list[160] = "";
	size_t at = 0;
	int more = 0;

	for (int r = 0; r < j->c->nranks; r++) {
		if (r == j->c->rank || j->peer[r].fd >= 0)
			continue;
		if (at + 16 < sizeof(list))
			at += (size_t)snprintf(list + at, sizeof(list) - at, "%s%d", at ? ", " : "",
					       r);
		else
			more++;
	}
	if (more)
		snprintf(list + at, sizeof(list) - at, " and %d more", more);
	nb_tcp_say(true, "gin: rank %d of %d cannot connect (%s): rank %s is missing", j->c->rank,
		   j->c->nranks, why, list);
}

/* Advance the connection to a higher rank. Returns 0 or an errno. */
static int dial_peer(struct join *j, struct joining *p)
{
	int error;

	if (p->fd >= 0)
		return 0;
	error = nb_tcp_dial_step(&p->dial);
	if (error)
		return error == EAGAIN ? 0 : error;
	p->fd = p->dial.fd;
	p->addr = p->dial.to;
	p->dial.fd = -1;
	j->missing--;
	return 0;
}

/* Let a lower rank in, and answer it. */
static void let_in(struct join *j, struct nb_tcp_guest *g)
{
	struct joining *p = &j->peer[g->hello.rank];
	size_t said = 0;

	g->hello.rank = (uint32_t)j->c->rank;
	/*
	 * the few bytes of the answer always fit into the empty buffer of a new
	 * socket
	 */
	if (nb_tcp_move(g->fd, &g->hello, sizeof(g->hello), &said, true) < 1) {
		close(g->fd);
		return;
	}
	if (p->fd >= 0)
		/* the rank connected again: keep the newer connection */
		close(p->fd);
	else
		j->missing--;
	p->fd = g->fd;
	p->addr = g->from;
}

/* Let in all ranks that wait. Returns 0 or an errno. */
static int take_peers(struct join *j)
{
	struct nb_tcp_guest g;
	int error = nb_tcp_door_take(j->door, &g);

	for (; !error && g.fd >= 0; error = nb_tcp_door_take(j->door, &g))
		let_in(j, &g);
	return error;
}

static void wait_for_events(const struct join *j)
{
	const struct nb_tcp_door *d = j->door;
	struct pollfd p[MOST];
	nfds_t n = 0;

	if (d->n < NB_TCP_GUESTS)
		p[n++] = (struct pollfd){ d->fd, POLLIN, 0 };
	for (int r = j->c->rank + 1; r < j->c->nranks && n < MOST; r++) {
		const struct nb_tcp_dial *dial = &j->peer[r].dial;

		if (dial->fd >= 0)
			p[n++] = (struct pollfd){ dial->fd, dial->connected ? POLLIN : POLLOUT, 0 };
	}
	for (unsigned i = 0; i < d->n && n < MOST; i++)
		p[n++] = (struct pollfd){ d->guest[i].fd, POLLIN, 0 };
	poll(p, n, TURN_MS);
}

/* Wait until all ranks are connected. Returns 0 or an errno. */
static int join_all(struct join *j)
{
	while (j->missing) {
		int error = 0;

		if (nb_clock_system() > j->deadline)
			return ETIMEDOUT;
		for (int r = j->c->rank + 1; r < j->c->nranks && !error; r++)
			error = dial_peer(j, &j->peer[r]);
		if (!error)
			error = take_peers(j);
		if (error)
			return error;
		if (j->missing)
			wait_for_events(j);
	}
	return 0;
}

/* Prepare all dials. Returns false if a handle is not ours. */
static bool join_begin(struct join *j, const struct nb_gin_mesh *mesh)
{
	for (int r = 0; r < mesh->nranks; r++)
		j->peer[r].fd = j->peer[r].dial.fd = -1;
	for (int r = 0; r < mesh->nranks; r++) {
		struct nb_tcp_dial *dial = &j->peer[r].dial;
		struct nb_tcp_handle h;

		memcpy(&h, mesh->handles[r], sizeof(h));
		/* the join's own deadline ends all dials */
		if (!nb_tcp_dial_open(dial, &h, NB_NET_CLASS_NONE, UINT64_MAX)) {
			nb_tcp_say(true,
				   "gin: the handle of rank %d is not ours: "
				   "do all ranks use the same GIN plugin?",
				   r);
			return false;
		}
		dial->hello.rank = (uint32_t)mesh->rank;
		dial->hello.nranks = (uint32_t)mesh->nranks;
	}
	j->door->rank = (uint32_t)mesh->rank;
	j->door->nranks = (uint32_t)mesh->nranks;
	j->deadline = nb_clock_system() + nb_gin_tcp_conf.connect_ns;
	return true;
}

/*
 * Give the sockets to the peers, and register them with epoll if there are
 * many. Returns 0 or an errno.
 */
static int peers_begin(struct join *j, int traffic_class)
{
	struct nb_gin_tcp *c = j->c;
	bool many = c->nranks - 1 > FEW;

	if (many)
		c->epoll = epoll_create1(EPOLL_CLOEXEC);
	for (int r = 0; r < c->nranks; r++) {
		struct epoll_event e = { .events = EPOLLIN, .data.u32 = (uint32_t)r };

		if (r == c->rank)
			continue;
		c->peer[r].fd = j->peer[r].fd;
		c->peer[r].addr = j->peer[r].addr;
		j->peer[r].fd = -1;
		nb_tcp_set_class(c->peer[r].fd, traffic_class);
		if (many && (c->epoll < 0 || epoll_ctl(c->epoll, EPOLL_CTL_ADD, c->peer[r].fd, &e)))
			return errno;
	}
	return 0;
}

static int join_run(struct join *j, const struct nb_gin_mesh *mesh)
{
	int error;

	if (!join_begin(j, mesh))
		return NB_NET_ARGUMENT;
	error = join_all(j);
	if (error)
		gin_name_missing(j, strerror(error));
	else
		error = peers_begin(j, mesh->traffic_class);
	return error ? NB_NET_REMOTE : NB_NET_OK;
}

int nb_gin_tcp_join(struct nb_gin_tcp *c, const struct nb_gin_mesh *mesh)
{
	struct nb_tcp_listener *l = mesh->listen_comm;
	struct join j = { .c = c, .door = &l->door, .missing = mesh->nranks - 1 };
	int rc;

	c->comm_id = l->comm_id;
	j.peer = calloc((size_t)mesh->nranks, sizeof(*j.peer));
	if (!j.peer)
		return NB_NET_SYSTEM;
	rc = join_run(&j, mesh);
	for (int r = 0; r < mesh->nranks; r++) {
		nb_tcp_dial_close(&j.peer[r].dial);
		if (j.peer[r].fd >= 0)
			close(j.peer[r].fd);
	}
	free(j.peer);
	return rc;
}
