// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_NET_LIST_H
#define NB_PLUGIN_NET_LIST_H

#include "plugin/net/hooks.h"

/*
 * Sums over open and closed connections, shown by the commands `status`,
 * `doctor` and `net`. A connection's thread writes its counters; readers see
 * their current values.
 */
struct nb_net_sums {
	/* counts of connections by enum nb_net_kind */
	uint64_t live[3], opened[3];
	/* counts of requests: index 0 for receives, 1 for sends */
	uint64_t requests[2];
	uint64_t bytes[2];
	uint64_t errors; /* errors returned to NCCL, also by failed connects */
};

/*
 * Add a new connection. Before it is freed, it must be removed; the sums then
 * keep its counts.
 */
void nb_net_list_add(struct nb_net_conn *c);
void nb_net_list_remove(struct nb_net_conn *c);
/* Count an error of a call that belongs to no connection. */
void nb_net_list_error(void);
/* Empty the list in a forked child. */
void nb_net_list_forked(void);

void nb_net_list_sums(struct nb_net_sums *out);
/*
 * nb_net_list_each - call @fn for each living connection, the oldest first
 *
 * Connections stay valid while @fn runs. @fn returns false to stop. Must not be
 * called within one of NCCL's calls.
 */
typedef bool nb_net_conn_fn(const struct nb_net_conn *c, void *arg);
void nb_net_list_each(nb_net_conn_fn *fn, void *arg);

/* A counter that one thread writes and any thread reads. */
#define NB_NET_COUNT(p, n) __atomic_store_n(&(p), (p) + (n), __ATOMIC_RELAXED)
#define NB_NET_COUNTED(p) __atomic_load_n(&(p), __ATOMIC_RELAXED)

#endif
