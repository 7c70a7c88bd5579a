// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_NET_LIST_H
#define NB_PLUGIN_NET_LIST_H

#include "plugin/net/hooks.h"

/*
 * The connections that live, and what those did that are gone: for `status`,
 * `doctor` and `net`. Taken down where connections come and go; their own
 * counters belong to their threads and are read here as they stand.
 */
struct nb_net_sums {
	uint64_t live[3], opened[3]; /* by enum nb_net_kind */
	uint64_t requests[2];	     /* of receivers, of senders */
	uint64_t bytes[2];
	uint64_t errors; /* that NCCL was given, connects included */
};

/* In, when it is made; out, before it is freed, its counts kept. */
void nb_net_list_add(struct nb_net_conn *c);
void nb_net_list_remove(struct nb_net_conn *c);
/* An error of a call that has no connection (yet). */
void nb_net_list_error(void);
/* After a fork, in the child: those listed are the parent's. */
void nb_net_list_forked(void);

void nb_net_list_sums(struct nb_net_sums *out);
/*
 * nb_net_list_each - call @fn for each living connection, the oldest first
 *
 * They stay while @fn runs; it returns false to end. Not from NCCL's calls.
 */
typedef bool nb_net_conn_fn(const struct nb_net_conn *c, void *arg);
void nb_net_list_each(nb_net_conn_fn *fn, void *arg);

/* A counter of a connection, which one thread writes and any may read. */
#define NB_NET_COUNT(p, n) __atomic_store_n(&(p), (p) + (n), __ATOMIC_RELAXED)
#define NB_NET_COUNTED(p) __atomic_load_n(&(p), __ATOMIC_RELAXED)

#endif
