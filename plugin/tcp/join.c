// SPDX-License-Identifier: MIT
/*
 * Doors and dials: the only way to a connection, for net and for GIN. A peer
 * that does not know the door's number gets no further than this file.
 */
#include "plugin/tcp/join.h"

#include <assert.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "plugin/runtime/clock.h"

/* delay between two attempts to connect, in ns */
static const uint64_t AGAIN_NS = 100000000;
enum { DEAD_MS = 30000 };

static_assert(sizeof(struct nb_tcp_handle) <= NB_NET_HANDLE, "ABI ref., 3.2");

void nb_tcp_set_class(int fd, int traffic_class)
{
	union nb_tcp_addr own = { .any.sa_family = AF_UNSPEC };
	socklen_t size = sizeof(own);

	if (traffic_class < 0 || traffic_class > 255 || getsockname(fd, &own.any, &size))
		return;
	if (own.any.sa_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_TCLASS, &traffic_class, sizeof(traffic_class));
	else
		setsockopt(fd, IPPROTO_IP, IP_TOS, &traffic_class, sizeof(traffic_class));
}

/*
 * Keepalive detects a dead host. In a GIN collComm a host also counts as dead
 * that takes no data, because a kernel may wait for it without a time limit.
 */
static void set_options(int fd, bool mesh)
{
	static const struct {
		int level, name, value;
	} options[] = {
		{ IPPROTO_TCP, TCP_NODELAY, 1 },
		{ SOL_SOCKET, SO_KEEPALIVE, 1 },
		/* the options below are GIN's */
		{ IPPROTO_TCP, TCP_KEEPIDLE, 10 },
		{ IPPROTO_TCP, TCP_KEEPINTVL, 5 },
		{ IPPROTO_TCP, TCP_KEEPCNT, 4 },
		{ IPPROTO_TCP, TCP_USER_TIMEOUT, DEAD_MS },
	};
	size_t n = mesh ? sizeof(options) / sizeof(options[0]) : 2;
	int size = nb_tcp_conf.buffer;

	for (size_t i = 0; i < n; i++)
		setsockopt(fd, options[i].level, options[i].name, &options[i].value,
			   sizeof(options[i].value));
	if (size) {
		setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
	}
}

int nb_tcp_move(int fd, void *at, size_t size, size_t *moved, bool out)
{
	while (*moved < size) {
		char *p = (char *)at + *moved;
		ssize_t n = out ? send(fd, p, size - *moved, MSG_NOSIGNAL | MSG_DONTWAIT)
				: recv(fd, p, size - *moved, MSG_DONTWAIT);

		if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
			return 0;
		if (n == 0)
			errno = ECONNRESET;
		if (n <= 0)
			return -1;
		*moved += (size_t)n;
	}
	return 1;
}

static bool hello_fits(const struct nb_tcp_hello *h, uint64_t cookie, uint32_t nranks)
{
	return h->magic == NB_TCP_HELLO_MAGIC && h->cookie == cookie &&
	       h->version == NB_TCP_VERSION && h->nranks == nranks;
}

/* ---- the dialling side ---- */

static bool address_of(const struct nb_tcp_handle *h, union nb_tcp_addr *a)
{
	memset(a, 0, sizeof(*a));
	a->any.sa_family = h->family;
	if (h->family == AF_INET) {
		a->v4.sin_port = h->port;
		memcpy(&a->v4.sin_addr, h->addr, 4);
	} else if (h->family == AF_INET6) {
		a->v6.sin6_port = h->port;
		memcpy(&a->v6.sin6_addr, h->addr, 16);
	} else {
		return false;
	}
	return true;
}

bool nb_tcp_dial_open(struct nb_tcp_dial *d, const struct nb_tcp_handle *h, int traffic_class,
		      uint64_t patience_ns)
{
	uint64_t now = nb_clock_system();

	memset(d, 0, sizeof(*d));
	d->fd = -1;
	d->traffic_class = traffic_class;
	d->deadline = patience_ns > UINT64_MAX - now ? UINT64_MAX : now + patience_ns;
	d->hello.magic = NB_TCP_HELLO_MAGIC;
	d->hello.cookie = h->cookie;
	d->hello.version = NB_TCP_VERSION;
	return h->magic == NB_TCP_HANDLE_MAGIC && h->version == NB_TCP_VERSION &&
	       address_of(h, &d->to) &&
	       getrandom(&d->hello.link, sizeof(d->hello.link), 0) ==
		       (ssize_t)sizeof(d->hello.link);
}

void nb_tcp_dial_close(struct nb_tcp_dial *d)
{
	if (d->fd >= 0)
		close(d->fd);
	d->fd = -1;
}

/*
 * Returns true if connect may be tried again after this error: nobody listens
 * yet, the route is down, or the door was full.
 */
static bool is_transient(int error)
{
	return error == ECONNREFUSED || error == ETIMEDOUT || error == ECONNRESET ||
	       error == EPIPE || error == EHOSTUNREACH || error == ENETUNREACH ||
	       error == EADDRNOTAVAIL;
}

/* Start to connect. Returns an errno. */
static int dial_begin(struct nb_tcp_dial *d)
{
	if (nb_clock_system() < d->again)
		return EAGAIN;
	d->connected = false;
	d->said = d->heard = 0;
	d->fd = socket(d->to.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (d->fd < 0)
		return errno;
	set_options(d->fd, d->hello.nranks);
	nb_tcp_set_class(d->fd, d->traffic_class);
	if (connect(d->fd, &d->to.any, nb_tcp_addr_size(&d->to)))
		return errno == EINPROGRESS || errno == EINTR ? 0 : errno;
	return 0;
}

/* Returns 0 if a connect is complete, EAGAIN if it is pending, or its errno. */
static int is_connected(int fd)
{
	union nb_tcp_addr peer;
	socklen_t size = sizeof(peer), n = sizeof(int);
	int error = 0;

	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &n))
		return errno;
	if (error)
		return error;
	if (getpeername(fd, &peer.any, &size))
		return errno == ENOTCONN ? EAGAIN : errno;
	return 0;
}

static int dial_talk(struct nb_tcp_dial *d)
{
	int rc = nb_tcp_move(d->fd, &d->hello, sizeof(d->hello), &d->said, true);

	if (rc > 0 && d->hello.nranks) {
		rc = nb_tcp_move(d->fd, &d->answer, sizeof(d->answer), &d->heard, false);
		if (rc > 0 && !hello_fits(&d->answer, d->hello.cookie, d->hello.nranks))
			return EPROTO;
	}
	return rc > 0 ? 0 : rc < 0 ? errno : EAGAIN;
}

static int dial_try(struct nb_tcp_dial *d)
{
	int error = 0;

	if (d->fd < 0)
		error = dial_begin(d);
	if (!error && !d->connected)
		error = is_connected(d->fd);
	if (error)
		return error;
	d->connected = true;
	return dial_talk(d);
}

int nb_tcp_dial_step(struct nb_tcp_dial *d)
{
	int error = dial_try(d);

	if (!is_transient(error) || nb_clock_system() >= d->deadline)
		return error;
	nb_tcp_dial_close(d);
	d->again = nb_clock_system() + AGAIN_NS;
	return EAGAIN;
}

/* ---- the door ---- */

static void fill_address(const union nb_tcp_addr *a, struct nb_tcp_handle *h)
{
	h->family = a->any.sa_family;
	if (a->any.sa_family == AF_INET6) {
		h->port = a->v6.sin6_port;
		memcpy(h->addr, &a->v6.sin6_addr, 16);
	} else {
		h->port = a->v4.sin_port;
		memcpy(h->addr, &a->v4.sin_addr, 4);
	}
}

int nb_tcp_door_open(struct nb_tcp_door *d, const struct nb_tcp_dev *dev, struct nb_tcp_handle *h)
{
	union nb_tcp_addr a = dev->addr;
	socklen_t size = nb_tcp_addr_size(&a);
	int error = 0;

	if (a.any.sa_family == AF_INET6)
		a.v6.sin6_port = 0;
	else
		a.v4.sin_port = 0;
	memset(h, 0, sizeof(*h));
	d->fd = socket(a.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (d->fd < 0 || bind(d->fd, &a.any, size) || listen(d->fd, SOMAXCONN) ||
	    getsockname(d->fd, &a.any, &size) ||
	    getrandom(&h->cookie, sizeof(h->cookie), 0) != (ssize_t)sizeof(h->cookie))
		error = errno;
	if (error && d->fd >= 0)
		close(d->fd);
	d->cookie = h->cookie;
	h->magic = NB_TCP_HANDLE_MAGIC;
	h->version = NB_TCP_VERSION;
	fill_address(&a, h);
	return error;
}

void nb_tcp_door_close(struct nb_tcp_door *d)
{
	for (unsigned i = 0; i < d->n; i++)
		close(d->guest[i].fd);
	close(d->fd);
}

int nb_tcp_listen(struct nb_tcp_listener **to, const char *what, const struct nb_tcp_dev *dev,
		  void *handle)
{
	struct nb_tcp_listener *l = calloc(1, sizeof(*l));
	struct nb_tcp_handle h;
	int error;

	*to = NULL;
	if (!l)
		return NB_NET_SYSTEM;
	error = nb_tcp_door_open(&l->door, dev, &h);
	if (error) {
		free(l);
		nb_tcp_say(true, "%s: cannot listen on %s: %s", what, dev->name, strerror(error));
		return nb_tcp_result(error);
	}
	memset(handle, 0, NB_NET_HANDLE);
	memcpy(handle, &h, sizeof(h));
	*to = l;
	return NB_NET_OK;
}

int nb_tcp_close_listen(void *listen_comm)
{
	struct nb_tcp_listener *l = listen_comm;

	if (l)
		nb_tcp_door_close(&l->door);
	free(l);
	return NB_NET_OK;
}

static void guest_remove(struct nb_tcp_door *d, unsigned i)
{
	d->n--;
	memmove(&d->guest[i], &d->guest[i + 1], (d->n - i) * sizeof(d->guest[0]));
}

static void guest_reject(struct nb_tcp_door *d, unsigned i, enum nb_net_count why)
{
	char text[80];

	nb_tcp_addr_text(&d->guest[i].from, text, sizeof(text));
	nb_tcp_count(why);
	if (nb_tcp_counted(why) == 1)
		nb_tcp_say(true,
			   "a connection from %s is dropped: the peer %s. "
			   "Further ones are only counted",
			   text,
			   why == NB_NET_LATE ? "says nothing"
					      : "does not come from a rank of this communicator");
	close(d->guest[i].fd);
	guest_remove(d, i);
}

/*
 * Accept connections while there are free entries. Others wait in the port's
 * backlog. Returns 0 or an errno.
 */
static int accept_guests(struct nb_tcp_door *d)
{
	while (d->n < NB_TCP_GUESTS) {
		struct nb_tcp_guest g = { .came = nb_clock_system() };
		socklen_t size = sizeof(g.from);

		g.fd = accept4(d->fd, &g.from.any, &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (g.fd < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
			return 0;
		if (g.fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOBUFS ||
				 errno == ENOMEM || errno == EBADF || errno == EINVAL))
			return errno;
		if (g.fd < 0)
			/* the peer has already closed the connection */
			continue;
		set_options(g.fd, d->nranks);
		d->guest[d->n++] = g;
	}
	return 0;
}

/*
 * Read the peer's hello. Returns 1 if a rank sent it, 0 if it is incomplete, -1
 * if it did not come from a rank.
 */
static int guest_hello(const struct nb_tcp_door *d, struct nb_tcp_guest *g)
{
	int rc = nb_tcp_move(g->fd, &g->hello, sizeof(g->hello), &g->heard, false);

	if (rc < 1)
		return rc;
	return hello_fits(&g->hello, d->cookie, d->nranks) &&
			       (!d->nranks || g->hello.rank < d->rank)
		       ? 1
		       : -1;
}

/* How long a silent peer may stay; less if others wait behind it. */
static uint64_t guest_patience(const struct nb_tcp_door *d)
{
	return d->n == NB_TCP_GUESTS && nb_tcp_conf.patience_ns < nb_tcp_conf.hello_ns
		       ? nb_tcp_conf.patience_ns
		       : nb_tcp_conf.hello_ns;
}

int nb_tcp_door_take(struct nb_tcp_door *d, struct nb_tcp_guest *to)
{
	int error = accept_guests(d);
	uint64_t patience = guest_patience(d), now = nb_clock_system();

	to->fd = -1;
	for (unsigned i = 0; i < d->n && !error;) {
		struct nb_tcp_guest *g = &d->guest[i];
		int heard = guest_hello(d, g);

		if (heard > 0) {
			*to = *g;
			guest_remove(d, i);
			return 0;
		}
		if (heard < 0)
			guest_reject(d, i, NB_NET_STRANGERS);
		else if (now > g->came && now - g->came > patience)
			guest_reject(d, i, NB_NET_LATE);
		else
			i++;
	}
	return error;
}
