// SPDX-License-Identifier: MIT
/*
 * Listening, connecting and accepting, all without waiting. A connecting peer
 * sends a number that only the handle contains. The listener drops every other
 * connection. No connection delays another.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "plugin/tcp/tcp.h"
#include "plugin/runtime/clock.h"

enum { GUESTS = 64 };
/* delay between two attempts to connect, in ns */
static const uint64_t AGAIN_NS = 100000000;

/* Context of a communicator, with its pending connects. */
struct ctx {
	int traffic_class;
	pthread_mutex_t lock;
	struct trip *trips;
};

/* A pending connect, to which the handle points. */
struct trip {
	struct trip *next;
	struct ctx *ctx; /* context whose list contains this connect, or NULL */
	int fd;		 /* socket of the connect; -1: try again later */
	bool there;	 /* the TCP connection is established */
	int traffic_class;
	uint64_t began, again;
	size_t said; /* bytes of the hello message sent so far */
	struct nb_tcp_hello hello;
	union nb_tcp_addr to;
};

/* A peer that has connected but has not yet identified itself. */
struct guest {
	int fd;
	uint64_t came;
	size_t got;
	struct nb_tcp_hello hello;
	union nb_tcp_addr from;
};

struct listener {
	int fd, traffic_class;
	uint64_t cookie;
	unsigned n;
	/* peers that have not identified themselves, the oldest first */
	struct guest guest[GUESTS];
};

static_assert(sizeof(struct nb_tcp_handle) <= NB_NET_HANDLE, "ABI ref., 3.2");
static_assert(sizeof(struct nb_tcp_hello) == 32, "the same everywhere");

int nb_tcp_init(void **to, const struct nb_net_init *init)
{
	struct ctx *c = calloc(1, sizeof(*c));

	*to = c;
	if (!c)
		return NB_NET_SYSTEM;
	c->traffic_class = init->traffic_class;
	pthread_mutex_init(&c->lock, NULL);
	return NB_NET_OK;
}

/* Remove a pending connect from its list and free it. */
static void connecting_free(struct trip *t)
{
	if (t->ctx) {
		pthread_mutex_lock(&t->ctx->lock);
		for (struct trip **at = &t->ctx->trips; *at; at = &(*at)->next)
			if (*at == t) {
				*at = t->next;
				break;
			}
		pthread_mutex_unlock(&t->ctx->lock);
	}
	if (t->fd >= 0)
		close(t->fd);
	free(t);
}

int nb_tcp_finalize(void *ctx)
{
	struct ctx *c = ctx;

	if (!c)
		return NB_NET_OK;
	while (c->trips)
		connecting_free(c->trips);
	pthread_mutex_destroy(&c->lock);
	free(c);
	return NB_NET_OK;
}

void nb_tcp_set_class(int fd, int family, int traffic_class)
{
	if (traffic_class < 0 || traffic_class > 255)
		return;
	if (family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_TCLASS, &traffic_class,
			   sizeof(traffic_class));
	else
		setsockopt(fd, IPPROTO_IP, IP_TOS, &traffic_class,
			   sizeof(traffic_class));
}

/* Set the options of a connection's socket. Keepalive detects a dead host. */
static void set_options(int fd, int family, int traffic_class)
{
	int one = 1;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof(one));
	nb_tcp_set_class(fd, family, traffic_class);
}

static int fail_errno(const char *what, int error)
{
	nb_tcp_say(true, "net: %s: %s", what, strerror(error));
	return nb_tcp_result(error);
}

int nb_tcp_close_listen(void *listen_comm)
{
	struct listener *l = listen_comm;

	if (!l)
		return NB_NET_OK;
	for (unsigned i = 0; i < l->n; i++)
		close(l->guest[i].fd);
	close(l->fd);
	free(l);
	return NB_NET_OK;
}

int nb_tcp_listen(void *ctx, int dev, void *handle, void **listen_comm)
{
	const struct nb_tcp_dev *d = nb_tcp_dev(dev);
	struct listener *l = calloc(1, sizeof(*l));
	int error;

	*listen_comm = NULL;
	if (!d || !l) {
		free(l);
		return d ? NB_NET_SYSTEM : NB_NET_ARGUMENT;
	}
	l->traffic_class =
		ctx ? ((struct ctx *)ctx)->traffic_class : NB_NET_CLASS_NONE;
	error = nb_tcp_port_open(d->addr, NB_TCP_HANDLE_MAGIC, NB_TCP_VERSION,
				 &l->fd, handle);
	if (error) {
		free(l);
		return fail_errno("cannot listen", error);
	}
	l->cookie = ((struct nb_tcp_handle *)handle)->cookie;
	*listen_comm = l;
	return NB_NET_OK;
}

static struct trip *connecting_new(struct ctx *c, int traffic_class,
				   const struct nb_tcp_handle *h)
{
	struct trip *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->fd = -1;
	t->began = nb_clock_system();
	t->hello.magic = NB_TCP_HELLO_MAGIC;
	t->hello.cookie = h->cookie;
	t->hello.version = NB_TCP_VERSION;
	if (!nb_tcp_port_address(h, NB_TCP_HANDLE_MAGIC, NB_TCP_VERSION,
				 &t->to) ||
	    getrandom(&t->hello.link, sizeof(t->hello.link), 0) < 0) {
		free(t);
		return NULL;
	}
	t->traffic_class = traffic_class;
	if (c) {
		if (traffic_class == NB_NET_CLASS_NONE)
			t->traffic_class = c->traffic_class;
		t->ctx = c;
		pthread_mutex_lock(&c->lock);
		t->next = c->trips;
		c->trips = t;
		pthread_mutex_unlock(&c->lock);
	}
	return t;
}

/*
 * Returns true if connect may be tried again after this error, because nobody
 * listens yet or the route is down.
 */
static bool is_transient(int error)
{
	return error == ECONNREFUSED || error == ETIMEDOUT ||
	       error == ECONNRESET || error == EHOSTUNREACH ||
	       error == ENETUNREACH || error == EADDRNOTAVAIL;
}

/* Start a connect. Returns 0, EAGAIN to try again later, or another errno. */
static int connect_begin(struct trip *t)
{
	if (nb_clock_system() < t->again)
		return EAGAIN;
	t->fd = socket(t->to.any.sa_family,
		       SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (t->fd < 0)
		return errno;
	set_options(t->fd, t->to.any.sa_family, t->traffic_class);
	if (connect(t->fd, &t->to.any, nb_tcp_addr_size(&t->to)))
		return errno == EINPROGRESS || errno == EINTR ? 0 : errno;
	return 0;
}

int nb_tcp_connected(int fd)
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

int nb_tcp_move(int fd, void *at, size_t size, size_t *moved, bool out)
{
	while (*moved < size) {
		char *p = (char *)at + *moved;
		ssize_t n = out ? send(fd, p, size - *moved,
				       MSG_NOSIGNAL | MSG_DONTWAIT)
				: recv(fd, p, size - *moved, MSG_DONTWAIT);

		if (n < 0 &&
		    (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
			return 0;
		if (n == 0)
			errno = ECONNRESET;
		if (n <= 0)
			return -1;
		*moved += (size_t)n;
	}
	return 1;
}

static int connect_step(struct trip *t)
{
	int rc, error = 0;

	if (t->fd < 0)
		error = connect_begin(t);
	if (!error && !t->there)
		error = nb_tcp_connected(t->fd);
	if (error)
		return error;
	t->there = true;
	rc = nb_tcp_move(t->fd, &t->hello, sizeof(t->hello), &t->said, true);
	return rc > 0 ? 0 : rc < 0 ? errno : EAGAIN;
}

int nb_tcp_connect(void *ctx, int dev, int traffic_class, void *handle,
		   void **send_comm, void **dev_handle)
{
	struct nb_tcp_handle h;
	struct trip *t;
	char text[80];
	int error;

	(void)dev;
	*send_comm = NULL;
	if (dev_handle)
		*dev_handle = NULL;
	memcpy(&h, handle, sizeof(h));
	t = h.state;
	if (h.magic != NB_TCP_HANDLE_MAGIC)
		t = NULL;
	if (!t)
		t = connecting_new(ctx, traffic_class, &h);
	if (!t) {
		nb_tcp_say(true, "net: a connection's handle is not ours: "
				 "do all ranks use the same net plugin?");
		return NB_NET_ARGUMENT;
	}
	h.state = t;
	error = connect_step(t);
	if (error && is_transient(error) &&
	    nb_clock_system() - t->began < nb_tcp_conf.connect_ns) {
		if (t->fd >= 0)
			close(t->fd);
		t->fd = -1;
		t->there = false;
		t->said = 0;
		t->again = nb_clock_system() + AGAIN_NS;
		error = EAGAIN;
	}
	if (error != EAGAIN) {
		h.state = NULL;
		if (!error) {
			*send_comm = nb_tcp_comm_new(t->fd, true, t->hello.link,
						     &t->to);
			t->fd = -1;
			error = *send_comm ? 0 : ENOMEM;
		}
		nb_tcp_addr_text(&t->to, text, sizeof(text));
		connecting_free(t);
	}
	memcpy(handle, &h, sizeof(h));
	if (!error || error == EAGAIN)
		return NB_NET_OK;
	nb_tcp_say(true, "net: cannot connect to %s: %s", text,
		   strerror(error));
	return nb_tcp_result(error);
}

static void guest_remove(struct listener *l, unsigned i)
{
	l->n--;
	memmove(&l->guest[i], &l->guest[i + 1],
		(l->n - i) * sizeof(l->guest[0]));
}

static void guest_reject(struct listener *l, unsigned i, enum nb_tcp_count why)
{
	char text[80];

	nb_tcp_addr_text(&l->guest[i].from, text, sizeof(text));
	nb_tcp_count(why);
	if (nb_tcp_counted(why) == 1)
		nb_tcp_say(
			true,
			"net: a connection from %s is dropped: the peer %s. "
			"Further ones are only counted",
			text,
			why == NB_TCP_LATE
				? "says nothing"
				: "does not come from a rank of this communicator");
	close(l->guest[i].fd);
	guest_remove(l, i);
}

/* Accept waiting connections. Returns 0 or an errno. */
static int accept_guests(struct listener *l)
{
	for (;;) {
		struct guest g = { .came = nb_clock_system() };
		socklen_t size = sizeof(g.from);

		g.fd = accept4(l->fd, &g.from.any, &size,
			       SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (g.fd < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
			return 0;
		if (g.fd < 0 &&
		    (errno == EMFILE || errno == ENFILE || errno == ENOBUFS ||
		     errno == ENOMEM || errno == EBADF || errno == EINVAL))
			return errno;
		if (g.fd < 0)
			/* the peer has already closed the connection */
			continue;
		if (l->n == GUESTS)
			guest_reject(l, 0, NB_TCP_LATE);
		l->guest[l->n++] = g;
	}
}

/*
 * Read the peer's hello. Returns 1 if a rank sent it, 0 if it is incomplete, -1
 * if it did not come from a rank.
 */
static int guest_hello(const struct listener *l, struct guest *g)
{
	int rc =
		nb_tcp_move(g->fd, &g->hello, sizeof(g->hello), &g->got, false);

	if (rc < 1)
		return rc;
	return g->hello.magic == NB_TCP_HELLO_MAGIC &&
			       g->hello.cookie == l->cookie &&
			       g->hello.version == NB_TCP_VERSION
		       ? 1
		       : -1;
}

int nb_tcp_accept(void *listen_comm, void **recv_comm, void **dev_handle)
{
	struct listener *l = listen_comm;
	uint64_t now = nb_clock_system();
	int error = accept_guests(l);

	*recv_comm = NULL;
	if (dev_handle)
		*dev_handle = NULL;
	if (error)
		return fail_errno("cannot accept a connection", error);
	for (unsigned i = 0; i < l->n;) {
		struct guest *g = &l->guest[i];
		int heard = guest_hello(l, g);

		if (heard > 0) {
			set_options(g->fd, g->from.any.sa_family,
				    l->traffic_class);
			*recv_comm = nb_tcp_comm_new(g->fd, false,
						     g->hello.link, &g->from);
			guest_remove(l, i);
			return *recv_comm ? NB_NET_OK : NB_NET_SYSTEM;
		}
		if (heard < 0)
			guest_reject(l, i, NB_TCP_STRANGERS);
		else if (now - g->came > nb_tcp_conf.hello_ns && now > g->came)
			guest_reject(l, i, NB_TCP_LATE);
		else
			i++;
	}
	return NB_NET_OK;
}
