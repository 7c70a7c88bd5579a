// SPDX-License-Identifier: MIT
/*
 * The process's list of collComms and its lock. Opening, closing and reading
 * take the lock; the data path does not.
 */
#include "plugin/gin/list.h"

#include <string.h>

#include "plugin/net/list.h"

static struct nb_open_list list = NB_OPEN_LIST_INIT;
/* sums of closed collComms; field live is unused; protected by list.lock */
static struct nb_gin_sums gone;

void nb_gin_list_add(struct nb_gin_coll *c)
{
	pthread_mutex_lock(&list.lock);
	nb_open_list_add(&list, &c->open);
	gone.opened++;
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
	if (strcmp(l.state, "lost") && strcmp(l.state, "stalled"))
		return;
	if (to->broken < NB_GIN_NAMED)
		to->named[to->broken] = (struct nb_gin_broken){ c->comm_id, c->rank, r, l.state };
	to->broken++;
}

static void sums_add(struct nb_gin_sums *to, const struct nb_gin_coll *c)
{
	for (int r = 0; r < c->nranks; r++)
		peer_add(to, c, r);
}

void nb_gin_list_remove(struct nb_gin_coll *c)
{
	pthread_mutex_lock(&list.lock);
	if (nb_open_list_remove(&list, &c->open)) {
		sums_add(&gone, c);
		gone.broken = 0;
	}
	pthread_mutex_unlock(&list.lock);
}

void nb_gin_list_error(void)
{
	nb_open_list_error(&list);
}

void nb_gin_list_forked(void)
{
	nb_open_list_forked(&list);
	memset(&gone, 0, sizeof(gone));
}

void nb_gin_list_sums(struct nb_gin_sums *out)
{
	pthread_mutex_lock(&list.lock);
	*out = gone;
	out->live = 0;
	for (struct nb_open_link *at = list.first; at; at = at->behind) {
		const struct nb_gin_coll *c = nb_open_of(at, struct nb_gin_coll, open);

		out->live++;
		sums_add(out, c);
	}
	pthread_mutex_unlock(&list.lock);
	out->errors += __atomic_load_n(&list.errors, __ATOMIC_RELAXED);
}

void nb_gin_list_each(nb_gin_coll_fn *fn, void *arg)
{
	pthread_mutex_lock(&list.lock);
	for (struct nb_open_link *at = list.first;
	     at && fn(nb_open_of(at, struct nb_gin_coll, open), arg); at = at->behind)
		;
	pthread_mutex_unlock(&list.lock);
}
