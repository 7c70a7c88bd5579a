// SPDX-License-Identifier: MIT
/*
 * Net: instances, listeners, connects and accepts. None of them waits.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "plugin/tcp/join.h"

/* Context of a communicator, with its pending connects. */
struct ctx {
	int traffic_class;
	pthread_mutex_t lock;
	struct trip *trips;
};

/* A pending connect, to which NCCL's handle points. */
struct trip {
	struct trip *next;
	struct ctx *ctx; /* context whose list contains this connect, or NULL */
	struct nb_tcp_dial dial;
};

int nb_net_init(void **to, const struct nb_net_init *init, bool usable)
{
	struct ctx *c;

	(void)usable;
	if (!to) /* before v11, NCCL has no context */
		return NB_NET_OK;
	*to = c = calloc(1, sizeof(*c));
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
	nb_tcp_dial_close(&t->dial);
	free(t);
}

int nb_net_finalize(void *ctx)
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

int nb_net_listen(void *ctx, int dev, void *handle, void **listen_comm)
{
	const struct nb_tcp_dev *d = nb_tcp_dev(dev);
	struct nb_tcp_listener *l;
	int rc;

	if (!d || !handle || !listen_comm)
		return NB_NET_ARGUMENT;
	rc = nb_tcp_listen(&l, "net", d, handle);
	if (l)
		l->traffic_class = ctx ? ((struct ctx *)ctx)->traffic_class : NB_NET_CLASS_NONE;
	*listen_comm = l;
	return rc;
}

int nb_net_close_listen(void *listen_comm)
{
	return nb_tcp_close_listen(listen_comm);
}

static struct trip *connecting_new(struct ctx *c, int traffic_class, const struct nb_tcp_handle *h)
{
	struct trip *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	if (traffic_class == NB_NET_CLASS_NONE && c)
		traffic_class = c->traffic_class;
	if (!nb_tcp_dial_open(&t->dial, h, traffic_class, nb_tcp_conf.connect_ns)) {
		free(t);
		return NULL;
	}
	t->ctx = c;
	if (c) {
		pthread_mutex_lock(&c->lock);
		t->next = c->trips;
		c->trips = t;
		pthread_mutex_unlock(&c->lock);
	}
	return t;
}

/* The connect has ended with an errno, or 0. */
static int connecting_end(struct trip *t, int error, void **send_comm)
{
	char text[80];

	if (!error) {
		*send_comm = nb_tcp_comm_new(t->dial.fd, true, t->dial.hello.link, &t->dial.to);
		t->dial.fd = -1;
		error = *send_comm ? 0 : ENOMEM;
	}
	nb_tcp_addr_text(&t->dial.to, text, sizeof(text));
	connecting_free(t);
	if (error)
		nb_tcp_say(true, "net: cannot connect to %s: %s", text, strerror(error));
	return nb_tcp_result(error);
}

int nb_net_connect(void *ctx, int dev, int traffic_class, void *handle, void **send_comm,
		   void **dev_handle)
{
	struct nb_tcp_handle h;
	struct trip *t;
	int error;

	(void)dev;
	if (!handle || !send_comm)
		return NB_NET_ARGUMENT;
	*send_comm = NULL;
	if (dev_handle)
		*dev_handle = NULL;
	memcpy(&h, handle, sizeof(h));
	t = h.magic == NB_TCP_HANDLE_MAGIC && h.state ? h.state
						      : connecting_new(ctx, traffic_class, &h);
	if (!t) {
		nb_tcp_say(true, "net: a connection's handle is not ours: "
				 "do all ranks use the same net plugin?");
		return NB_NET_ARGUMENT;
	}
	error = nb_tcp_dial_step(&t->dial);
	h.state = error == EAGAIN ? t : NULL;
	memcpy(handle, &h, sizeof(h));
	return error == EAGAIN ? NB_NET_OK : connecting_end(t, error, send_comm);
}

int nb_net_accept(void *listen_comm, void **recv_comm, void **dev_handle)
{
	struct nb_tcp_listener *l = listen_comm;
	struct nb_tcp_guest g;
	int error;

	if (!recv_comm)
		return NB_NET_ARGUMENT;
	*recv_comm = NULL;
	if (dev_handle)
		*dev_handle = NULL;
	if (!l)
		return NB_NET_ARGUMENT;
	error = nb_tcp_door_take(&l->door, &g);
	if (error) {
		nb_tcp_say(true, "net: cannot accept a connection: %s", strerror(error));
		return nb_tcp_result(error);
	}
	if (g.fd < 0)
		return NB_NET_OK;
	nb_tcp_set_class(g.fd, l->traffic_class);
	*recv_comm = nb_tcp_comm_new(g.fd, false, g.hello.link, &g.from);
	return *recv_comm ? NB_NET_OK : NB_NET_SYSTEM;
}
