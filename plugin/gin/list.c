// SPDX-License-Identifier: MIT
/*
 * The process's list of collComms and its lock. Opening, closing and reading
 * take the lock; the data path does not.
 */
#include "plugin/gin/list.h"

#include <string.h>

#include "plugin/net/list.h"

static struct {
	pthread_mutex_t lock;
	struct nb_gin_coll *first, *last;
	/* sums of closed collComms; field live is unused */
	struct nb_gin_sums gone;
	/* errors that belong to no collComm; accessed atomically */
	uint64_t errors;
} list = { .lock = PTHREAD_MUTEX_INITIALIZER };

void nb_gin_list_add(struct nb_gin_coll *c)
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
	list.gone.opened++;
	pthread_mutex_unlock(&list.lock);
}

static void peer_add(struct nb_gin_sums *to, const struct nb_gin_coll *c, int r)
{
	const struct nb_gin_counts *p = &c->peer[r];
	const struct nb_gin_ops *ops = c->ops;
	struct nb_gin_link l;

	to->puts += NB_NET_COUNTED(p->puts);
	to->signals += NB_NET_COUNTED(p->signals);
	to->gets += NB_NET_COUNTED(p->gets);
	to->bytes += NB_NET_COUNTED(p->bytes);
	to->held += NB_NET_COUNTED(p->held);
	to->errors += NB_NET_COUNTED(p->errors);
	if (!ops->link)
		return;
	ops->link(c->inner, (uint32_t)r, &l);
	to->in_puts += l.in_puts;
	to->in_signals += l.in_signals;
	to->in_bytes += l.in_bytes;
	to->broken += !strcmp(l.state, "lost") || !strcmp(l.state, "stalled");
}

static void sums_add(struct nb_gin_sums *to, const struct nb_gin_coll *c)
{
	for (int r = 0; r < c->nranks; r++)
		peer_add(to, c, r);
}

void nb_gin_list_remove(struct nb_gin_coll *c)
{
	pthread_mutex_lock(&list.lock);
	if (c->listed) {
		*(c->before ? &c->before->behind : &list.first) = c->behind;
		*(c->behind ? &c->behind->before : &list.last) = c->before;
		sums_add(&list.gone, c);
		list.gone.broken = 0;
		c->listed = false;
	}
	pthread_mutex_unlock(&list.lock);
}

void nb_gin_list_error(void)
{
	__atomic_fetch_add(&list.errors, 1, __ATOMIC_RELAXED);
}

void nb_gin_list_forked(void)
{
	pthread_mutex_init(&list.lock, NULL);
	for (struct nb_gin_coll *c = list.first; c; c = c->behind)
		c->listed = false;
	list.first = list.last = NULL;
	memset(&list.gone, 0, sizeof(list.gone));
	__atomic_store_n(&list.errors, 0, __ATOMIC_RELAXED);
}

void nb_gin_list_sums(struct nb_gin_sums *out)
{
	pthread_mutex_lock(&list.lock);
	*out = list.gone;
	out->live = 0;
	for (const struct nb_gin_coll *c = list.first; c; c = c->behind) {
		out->live++;
		sums_add(out, c);
	}
	pthread_mutex_unlock(&list.lock);
	out->errors += __atomic_load_n(&list.errors, __ATOMIC_RELAXED);
}

void nb_gin_list_each(nb_gin_coll_fn *fn, void *arg)
{
	pthread_mutex_lock(&list.lock);
	for (const struct nb_gin_coll *c = list.first; c && fn(c, arg);
	     c = c->behind)
		;
	pthread_mutex_unlock(&list.lock);
}
