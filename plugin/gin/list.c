// SPDX-License-Identifier: MIT
/*
 * The process's list of collComms and its lock. Opening, closing and reading
 * take the lock; the data path does not.
 */
#include "plugin/gin/list.h"

#include <string.h>

#include "plugin/net/list.h"

static struct nb_open_list gin_colls = NB_OPEN_LIST_INIT;
/* sums of closed collComms; field live is unused; protected by list.lock */
static struct nb_gin_sums gin_closed;

void nb_gin_list_add(struct nb_gin_coll *c)
{
	pthread_mutex_lock(&gin_colls.lock);
	nb_open_list_add(&gin_colls, &c->open);
	gin_closed.opened++;
	pthread_mutex_unlock(&gin_colls.lock);
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

static void gin_sums_add(struct nb_gin_sums *to, const struct nb_gin_coll *c)
{
	for (int r = 0; r < c->nranks; r++)
		peer_add(to, c, r);
}

void nb_gin_list_remove(struct nb_gin_coll *c)
{
	pthread_mutex_lock(&gin_colls.lock);
	if (nb_open_list_remove(&gin_colls, &c->open)) {
		gin_sums_add(&gin_closed, c);
		gin_closed.broken = 0;
	}
	pthread_mutex_unlock(&gin_colls.lock);
}

void nb_gin_list_error(void)
{
	nb_open_list_error(&gin_colls);
}

void nb_gin_list_forked(void)
{
	nb_open_list_forked(&gin_colls);
	memset(&gin_closed, 0, sizeof(gin_closed));
}

void nb_gin_list_sums(struct nb_gin_sums *out)
{
	pthread_mutex_lock(&gin_colls.lock);
	*out = gin_closed;
	out->live = 0;
	for (struct nb_open_link *at = gin_colls.first; at; at = at->behind) {
		const struct nb_gin_coll *c = nb_open_of(at, struct nb_gin_coll, open);

		out->live++;
		gin_sums_add(out, c);
	}
	pthread_mutex_unlock(&gin_colls.lock);
	out->errors += __atomic_load_n(&gin_colls.errors, __ATOMIC_RELAXED);
}

void nb_gin_list_each(nb_gin_coll_fn *fn, void *arg)
{
	pthread_mutex_lock(&gin_colls.lock);
	for (struct nb_open_link *at = gin_colls.first;
	     at && fn(nb_open_of(at, struct nb_gin_coll, open), arg); at = at->behind)
		;
	pthread_mutex_unlock(&gin_colls.lock);
}
