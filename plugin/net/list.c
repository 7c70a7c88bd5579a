// SPDX-License-Identifier: MIT
/*
 * The process's list of connections and its lock. Opening, closing and reading
 * take the lock; the data path does not.
 */
#include "plugin/net/list.h"

#include <pthread.h>
#include <string.h>

static struct nb_open_list list = NB_OPEN_LIST_INIT;
/* sums of closed connections; field live is unused; protected by list.lock */
static struct nb_net_sums gone;

void nb_net_list_add(struct nb_net_conn *c)
{
	pthread_mutex_lock(&list.lock);
	nb_open_list_add(&list, &c->open);
	gone.opened[c->kind]++;
	pthread_mutex_unlock(&list.lock);
}

static void sums_add(struct nb_net_sums *to, const struct nb_net_conn *c)
{
	to->errors += NB_NET_COUNTED(c->errors);
	if (c->kind == NB_NET_LISTENER)
		return;
	to->requests[c->kind] += NB_NET_COUNTED(c->requests);
	to->bytes[c->kind] += NB_NET_COUNTED(c->bytes);
}

void nb_net_list_remove(struct nb_net_conn *c)
{
	pthread_mutex_lock(&list.lock);
	if (nb_open_list_remove(&list, &c->open))
		sums_add(&gone, c);
	pthread_mutex_unlock(&list.lock);
}

void nb_net_list_error(void)
{
	nb_open_list_error(&list);
}

void nb_net_list_forked(void)
{
	nb_open_list_forked(&list);
	memset(&gone, 0, sizeof(gone));
}

void nb_net_list_sums(struct nb_net_sums *out)
{
	pthread_mutex_lock(&list.lock);
	*out = gone;
	memset(out->live, 0, sizeof(out->live));
	for (struct nb_open_link *at = list.first; at; at = at->behind) {
		const struct nb_net_conn *c = nb_open_of(at, struct nb_net_conn, open);

		out->live[c->kind]++;
		sums_add(out, c);
	}
	pthread_mutex_unlock(&list.lock);
	out->errors += __atomic_load_n(&list.errors, __ATOMIC_RELAXED);
}

void nb_net_list_each(nb_net_conn_fn *fn, void *arg)
{
	pthread_mutex_lock(&list.lock);
	for (struct nb_open_link *at = list.first;
	     at && fn(nb_open_of(at, struct nb_net_conn, open), arg); at = at->behind)
		;
	pthread_mutex_unlock(&list.lock);
}
