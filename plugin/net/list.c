// SPDX-License-Identifier: MIT
/*
 * The process's list of connections and its lock. Opening, closing and reading
 * take the lock; the data path does not.
 */
#include "plugin/net/list.h"

#include <pthread.h>
#include <string.h>

static struct {
	pthread_mutex_t lock;
	struct nb_net_conn *first, *last;
	/* sums of closed connections; field live is unused */
	struct nb_net_sums gone;
	/* errors that belong to no connection; accessed atomically */
	uint64_t errors;
} list = { .lock = PTHREAD_MUTEX_INITIALIZER };

void nb_net_list_add(struct nb_net_conn *c)
{
	pthread_mutex_lock(&list.lock);
	c->before = list.last;
	c->behind = NULL;
	if (list.last)
		list.last->behind = c;
	else
		list.first = c;
	list.last = c;
	c->listed = true;
	list.gone.opened[c->kind]++;
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
	if (c->listed) {
		*(c->before ? &c->before->behind : &list.first) = c->behind;
		*(c->behind ? &c->behind->before : &list.last) = c->before;
		sums_add(&list.gone, c);
		c->listed = false;
	}
	pthread_mutex_unlock(&list.lock);
}

void nb_net_list_error(void)
{
	__atomic_fetch_add(&list.errors, 1, __ATOMIC_RELAXED);
}

void nb_net_list_forked(void)
{
	pthread_mutex_init(&list.lock, NULL);
	/* another thread may have been changing the list during the fork */
	for (struct nb_net_conn *c = list.first; c; c = c->behind)
		c->listed = false;
	list.first = list.last = NULL;
	memset(&list.gone, 0, sizeof(list.gone));
	__atomic_store_n(&list.errors, 0, __ATOMIC_RELAXED);
}

void nb_net_list_sums(struct nb_net_sums *out)
{
	pthread_mutex_lock(&list.lock);
	*out = list.gone;
	memset(out->live, 0, sizeof(out->live));
	for (const struct nb_net_conn *c = list.first; c; c = c->behind) {
		out->live[c->kind]++;
		sums_add(out, c);
	}
	pthread_mutex_unlock(&list.lock);
	out->errors += __atomic_load_n(&list.errors, __ATOMIC_RELAXED);
}

void nb_net_list_each(nb_net_conn_fn *fn, void *arg)
{
	pthread_mutex_lock(&list.lock);
	for (const struct nb_net_conn *c = list.first; c && fn(c, arg);
	     c = c->behind)
		;
	pthread_mutex_unlock(&list.lock);
}
