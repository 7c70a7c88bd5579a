// SPDX-License-Identifier: MIT
/*
 * Devices, listeners, and the connections between all ranks of a collComm. A
 * rank connects to every higher rank and accepts connections of lower ranks.
 * Connect waits until every peer has answered or its time is over, and then
 * names the missing ranks. A connection without the listener's secret number is
 * dropped.
 */
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "plugin/tcp/gin.h"
#include "plugin/runtime/clock.h"

/*
 * FEW: up to this number of peers, no epoll is used. TURN_MS: longest wait for
 * a socket event while connecting. PATIENCE_MS: time after which a silent
 * incoming connection gives up its slot when others wait.
 */
enum {
	FEW = 4,
	GUESTS = 64,
	TURN_MS = 50,
	PATIENCE_MS = 1000,
	DEAD_MS = 30000
};

struct listener {
	int fd;
	uint64_t cookie, comm_id;
};

static_assert(sizeof(struct nb_tcp_handle) <= NB_NET_HANDLE,
	      "NCCL's 128 bytes");
static_assert(sizeof(struct nb_gin_hello) == 32, "no padding");

struct instance {
	uint64_t comm_id;
};

/* A connection to or from another rank that is being made. */
struct joining {
	/* socket of the connection; -1: none, the next try is at `again` */
	int fd;
	bool connected, done;
	/*
	 * again: time of the next try to connect; since: when an incoming
	 * connection was accepted
	 */
	uint64_t again, since;
	size_t moved; /* bytes of the hello that were sent or received */
	size_t got;   /* bytes of the answer that were received or sent */
	struct nb_gin_hello hello, answer;
	union nb_tcp_addr addr;
};

struct join {
	struct nb_gin_tcp *c;
	const struct listener *l;
	struct joining *up; /* outgoing connections, one for each higher rank */
	struct joining guest[GUESTS];
	int nguests, missing;
	uint64_t now, deadline;
};

int nb_gin_tcp_init(void **ctx, uint64_t comm_id, nb_net_logger *logger)
{
	struct instance *i = calloc(1, sizeof(*i));

	(void)logger;
	*ctx = i;
	if (!i)
		return NB_NET_SYSTEM;
	i->comm_id = comm_id;
	return NB_NET_OK;
}

int nb_gin_tcp_properties(int dev, struct nb_net_props *p)
{
	int rc = nb_tcp_get_properties(dev, p);

	if (rc)
		return rc;
	p->ptr_support = NB_NET_HOST_MEMORY | NB_NET_CUDA_MEMORY;
	/* NCCL's queue has 32 entries for each receive of max_recvs */
	p->max_recvs = nb_gin_tcp_conf.queue / 32;
	p->device_type = NB_GIN_PROXY;
	p->max_p2p_bytes = p->max_coll_bytes = (size_t)1 << 57;
	return NB_NET_OK;
}

int nb_gin_tcp_close_listen(void *listen_comm)
{
	struct listener *l = listen_comm;

	if (!l)
		return NB_NET_OK;
	close(l->fd);
	free(l);
	return NB_NET_OK;
}

int nb_gin_tcp_listen(void *ctx, int dev, void *handle, void **listen_comm)
{
	/*
	 * @dev counts the devices of NCCL's net plugin, which may have more
	 *   than ours
	 */
	const struct nb_tcp_dev *d =
		nb_tcp_dev(dev) ? nb_tcp_dev(dev) : nb_tcp_dev(0);
	struct listener *l;
	struct nb_tcp_handle h;
	int error;

	*listen_comm = NULL;
	if (!d || dev < 0)
		return NB_NET_ARGUMENT;
	l = calloc(1, sizeof(*l));
	if (!l)
		return NB_NET_SYSTEM;
	l->comm_id = ctx ? ((struct instance *)ctx)->comm_id : 0;
	error = nb_tcp_port_open(d->addr, NB_GIN_HANDLE_MAGIC, NB_GIN_VERSION,
				 &l->fd, &h);
	if (error) {
		free(l);
		nb_tcp_say(true, "gin: cannot listen on %s: %s", d->name,
			   strerror(error));
		return nb_tcp_result(error);
	}
	l->cookie = h.cookie;
	memset(handle, 0, NB_NET_HANDLE);
	memcpy(handle, &h, sizeof(h));
	*listen_comm = l;
	return NB_NET_OK;
}

/* Set keepalive and the TCP user time-out, which detect a dead host. */
static void set_options(int fd)
{
	static const struct {
		int level, name, value;
	} options[] = {
		{ IPPROTO_TCP, TCP_NODELAY, 1 },
		{ SOL_SOCKET, SO_KEEPALIVE, 1 },
		{ IPPROTO_TCP, TCP_KEEPIDLE, 10 },
		{ IPPROTO_TCP, TCP_KEEPINTVL, 5 },
		{ IPPROTO_TCP, TCP_KEEPCNT, 4 },
		{ IPPROTO_TCP, TCP_USER_TIMEOUT, DEAD_MS },
	};
	int size = nb_gin_tcp_conf.send_buffer;

	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
		setsockopt(fd, options[i].level, options[i].name,
			   &options[i].value, sizeof(options[i].value));
	if (size) {
		setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
	}
}

static bool hello_fits(const struct nb_gin_hello *h, uint64_t cookie,
		       int nranks)
{
	return h->magic == NB_GIN_HELLO_MAGIC && h->cookie == cookie &&
	       h->version == NB_GIN_VERSION && h->nranks == (uint32_t)nranks;
}

static void try_again(struct join *j, struct joining *u)
{
	if (u->fd >= 0)
		close(u->fd);
	u->fd = -1;
	u->connected = false;
	u->moved = u->got = 0;
	u->again = j->now + UINT64_C(100000000);
}

static int connect_begin(struct join *j, struct joining *u)
{
	if (j->now < u->again)
		return 0;
	u->fd = socket(u->addr.any.sa_family,
		       SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (u->fd < 0)
		return errno;
	set_options(u->fd);
	if (connect(u->fd, &u->addr.any, nb_tcp_addr_size(&u->addr)) &&
	    errno != EINPROGRESS && errno != EINTR)
		try_again(j, u);
	return 0;
}

static bool is_connected(struct join *j, struct joining *u)
{
	int error = u->connected ? 0 : nb_tcp_connected(u->fd);

	u->connected = !error;
	if (error && error != EAGAIN)
		try_again(j, u);
	return u->connected;
}

/*
 * Advance one connection to a higher rank. Returns 0, or an errno that ends the
 * connect.
 */
static int connect_step(struct join *j, struct joining *u)
{
	int rc;

	if (u->done)
		return 0;
	if (u->fd < 0)
		return connect_begin(j, u);
	if (!is_connected(j, u))
		return 0;
	rc = nb_tcp_move(u->fd, &u->hello, sizeof(u->hello), &u->moved, true);
	if (rc > 0)
		rc = nb_tcp_move(u->fd, &u->answer, sizeof(u->answer), &u->got,
				 false);
	if (rc > 0 &&
	    !hello_fits(&u->answer, u->hello.cookie, (int)u->hello.nranks))
		return EPROTO;
	if (rc < 0)
		try_again(j, u);
	if (rc > 0) {
		u->done = true;
		j->missing--;
	}
	return 0;
}

static void guest_drop(struct join *j, int i, bool close_it)
{
	if (close_it)
		close(j->guest[i].fd);
	j->guest[i] = j->guest[--j->nguests];
}

/*
 * Accept connections while there are free slots. Others wait in the listener's
 * backlog.
 */
static void accept_guests(struct join *j)
{
	while (j->nguests < GUESTS) {
		struct joining *g = &j->guest[j->nguests];
		socklen_t size = sizeof(g->addr);

		memset(g, 0, sizeof(*g));
		g->since = j->now;
		g->fd = accept4(j->l->fd, &g->addr.any, &size,
				SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (g->fd < 0)
			return;
		set_options(g->fd);
		j->nguests++;
	}
}

/*
 * Returns the lower rank that an incoming connection claims to be, or NULL if
 * no such rank is awaited.
 */
static struct joining *guest_rank(struct join *j, const struct joining *g)
{
	if (!hello_fits(&g->hello, j->l->cookie, j->c->nranks) ||
	    g->hello.rank >= (uint32_t)j->c->rank)
		return NULL;
	return &j->up[g->hello.rank];
}

/*
 * Advance one incoming connection. Returns false if it was removed from the
 * list.
 */
static bool guest_step(struct join *j, int i)
{
	struct joining *g = &j->guest[i], *r;
	int rc = nb_tcp_move(g->fd, &g->hello, sizeof(g->hello), &g->moved,
			     false);

	if (!rc)
		return true;
	r = rc > 0 ? guest_rank(j, g) : NULL;
	if (!r) {
		nb_tcp_count(NB_TCP_STRANGERS);
		guest_drop(j, i, true);
		return false;
	}
	g->answer = g->hello;
	g->answer.rank = (uint32_t)j->c->rank;
	/*
	 * the 32 bytes of the answer always fit into the empty buffer of a new
	 * socket
	 */
	if (nb_tcp_move(g->fd, &g->answer, sizeof(g->answer), &g->got, true) <
	    1) {
		guest_drop(j, i, true);
		return false;
	}
	if (r->done)
		/*
		 * the rank connected a second time: keep the newer connection
		 */
		close(r->fd);
	else
		j->missing--;
	*r = *g;
	r->done = true;
	guest_drop(j, i, false);
	return false;
}

/*
 * Drop incoming connections that have been silent for long, to free slots. The
 * caller has already read from all of them.
 */
static void make_room(struct join *j)
{
	const uint64_t patience = PATIENCE_MS * UINT64_C(1000000);

	if (j->nguests < GUESTS)
		return;
	for (int i = j->nguests - 1; i >= 0; i--)
		if (j->now - j->guest[i].since > patience) {
			nb_tcp_count(NB_TCP_STRANGERS);
			guest_drop(j, i, true);
		}
}

static void name_missing(const struct join *j, const char *why)
{
	char list[160] = "";
	size_t at = 0;
	int more = 0;

	for (int r = 0; r < j->c->nranks; r++) {
		if (r == j->c->rank || j->up[r].done)
			continue;
		if (at + 16 < sizeof(list))
			at += (size_t)snprintf(list + at, sizeof(list) - at,
					       "%s%d", at ? ", " : "", r);
		else
			more++;
	}
	if (more)
		snprintf(list + at, sizeof(list) - at, " and %d more", more);
	nb_tcp_say(true,
		   "gin: rank %d of %d cannot connect (%s): rank %s is missing",
		   j->c->rank, j->c->nranks, why, list);
}

static void wait_for_events(const struct join *j)
{
	struct pollfd p[GUESTS + 1];
	nfds_t n = 0;

	if (j->nguests < GUESTS)
		p[n++] = (struct pollfd){ j->l->fd, POLLIN, 0 };
	for (int r = j->c->rank + 1; r < j->c->nranks && n <= GUESTS; r++)
		if (!j->up[r].done && j->up[r].fd >= 0)
			p[n++] = (struct pollfd){ j->up[r].fd,
						  j->up[r].connected ? POLLIN
								     : POLLOUT,
						  0 };
	for (int i = 0; i < j->nguests && n <= GUESTS; i++)
		p[n++] = (struct pollfd){ j->guest[i].fd, POLLIN, 0 };
	poll(p, n, TURN_MS);
}

/* Wait until all ranks are connected. Returns 0 or an errno. */
static int join_all(struct join *j)
{
	while (j->missing) {
		int error = 0;

		j->now = nb_clock_system();
		if (j->now > j->deadline)
			return ETIMEDOUT;
		for (int r = j->c->rank + 1; r < j->c->nranks && !error; r++)
			error = connect_step(j, &j->up[r]);
		if (error)
			return error;
		accept_guests(j);
		for (int i = 0; i < j->nguests;)
			i += guest_step(j, i);
		make_room(j);
		if (j->missing)
			wait_for_events(j);
	}
	return 0;
}

static bool join_begin(struct join *j, const struct nb_gin_mesh *mesh)
{
	/*
	 * initialise all entries first, because an error closes every socket
	 * that is not -1
	 */
	for (int r = 0; r < mesh->nranks; r++)
		j->up[r].fd = -1;
	for (int r = 0; r < mesh->nranks; r++) {
		struct joining *u = &j->up[r];
		struct nb_tcp_handle h;

		memcpy(&h, mesh->handles[r], sizeof(h));
		if (!nb_tcp_port_address(&h, NB_GIN_HANDLE_MAGIC,
					 NB_GIN_VERSION, &u->addr)) {
			nb_tcp_say(true,
				   "gin: the handle of rank %d is not ours: "
				   "do all ranks use the same GIN plugin?",
				   r);
			return false;
		}
		u->hello = (struct nb_gin_hello){
			NB_GIN_HELLO_MAGIC,	h.cookie,
			NB_GIN_VERSION,		(uint32_t)mesh->rank,
			(uint32_t)mesh->nranks, 0
		};
	}
	return true;
}

/*
 * Give the sockets to the peers, and register them with epoll if there are
 * many.
 */
static int take_all(struct join *j, int traffic_class)
{
	struct nb_gin_tcp *c = j->c;

	if (c->nranks - 1 > FEW)
		c->epoll = epoll_create1(EPOLL_CLOEXEC);
	for (int r = 0; r < c->nranks; r++) {
		struct epoll_event e = { .events = EPOLLIN,
					 .data.u32 = (uint32_t)r };

		if (r == c->rank)
			continue;
		c->peer[r].fd = j->up[r].fd;
		c->peer[r].addr = j->up[r].addr;
		j->up[r].fd = -1;
		nb_tcp_set_class(c->peer[r].fd, c->peer[r].addr.any.sa_family,
				 traffic_class);
		if (c->nranks - 1 > FEW &&
		    (c->epoll < 0 ||
		     epoll_ctl(c->epoll, EPOLL_CTL_ADD, c->peer[r].fd, &e)))
			return errno;
	}
	return 0;
}

int nb_gin_tcp_join(struct nb_gin_tcp *c, const struct nb_gin_mesh *mesh)
{
	struct join *j = calloc(1, sizeof(*j));
	int error = ENOMEM;

	if (!j)
		return NB_NET_SYSTEM;
	j->c = c;
	j->l = mesh->listen_comm;
	c->comm_id = j->l->comm_id;
	j->missing = mesh->nranks - 1;
	j->up = calloc((size_t)mesh->nranks, sizeof(*j->up));
	if (j->up && !join_begin(j, mesh))
		error = EINVAL;
	else if (j->up) {
		j->deadline = nb_clock_system() + nb_gin_tcp_conf.connect_ns;
		error = join_all(j);
		if (error)
			name_missing(j, strerror(error));
		else
			error = take_all(j, mesh->traffic_class);
	}
	for (int r = 0; j->up && r < mesh->nranks; r++)
		if (j->up[r].fd >= 0)
			close(j->up[r].fd);
	for (int i = 0; i < j->nguests; i++)
		close(j->guest[i].fd);
	free(j->up);
	free(j);
	return error == EINVAL ? NB_NET_ARGUMENT
	       : error	       ? NB_NET_REMOTE
			       : NB_NET_OK;
}
