// SPDX-License-Identifier: MIT
/*
 * The process's list of connections and its lock. Opening, closing and reading
 * take the lock; the data path does not.
 */
#include "plugin/net/list.h"

#include <pthread.h>
#include <string.h>

static struct nb_open_list net_conns = NB_OPEN_LIST_INIT;
/* sums of closed connections; field live is unused; protected by list.lock */
static struct nb_net_sums net_closed;

void nb_net_list_add(struct nb_net_conn *c)
{
	pthread_mutex_lock(&net_conns.lock);
	nb_open_list_add(&net_conns, &c->open);
	net_closed.opened[c->kind]++;
	pthread_mutex_unlock(&net_conns.lock);
}

static void net_sums_add(struct nb_net_sums *to, const struct nb_net_conn *c)
{
	to->errors += NB_NET_COUNTED(c->errors);
	if (c->kind == NB_NET_LISTENER)
		return;
	to->requests[c->kind] += NB_NET_COUNTED(c->requests);
	to->bytes[c->kind] += NB_NET_COUNTED(c->bytes);
}

void nb_net_list_remove(struct nb_net_conn *c)
{
	pthread_mutex_lock(&net_conns.lock);
	if (nb_open_list_remove(&net_conns, &c->open))
		net_sums_add(&net_closed, c);
	pthread_mutex_unlock(&net_conns.lock);
}

void nb_net_list_error(void)
{
	nb_open_list_error(&net_conns);
}

void nb_net_list_forked(void)
{
	nb_open_list_forked(&net_conns);
	memset(&net_closed, 0, sizeof(net_closed));
}

void nb_net_list_sums(struct nb_net_sums *out)
{
	pthread_mutex_lock(&net_conns.lock);
	*out = net_closed;
	memset(out->live, 0, sizeof(out->live));
	for (struct nb_open_link *at = net_conns.first; at; at = at->behind) {
		const struct nb_net_conn *c = nb_open_of(at, struct nb_net_conn, open);

		out->live[c->kind]++;
		net_sums_add(out, c);
	}
	pthread_mutex_unlock(&net_conns.lock);
	out->errors += __atomic_load_n(&net_conns.errors, __ATOMIC_RELAXED);
}

void nb_net_list_each(nb_net_conn_fn *fn, void *arg)
{
	pthread_mutex_lock(&net_conns.lock);
	for (struct nb_open_link *at = net_conns.first;
	     at && fn(nb_open_of(at, struct nb_net_conn, open), arg); at = at->behind)
		;
	pthread_mutex_unlock(&net_conns.lock);
}
