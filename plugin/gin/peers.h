// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_GIN_PEERS_H
#define NB_PLUGIN_GIN_PEERS_H

#include "plugin/gin/transport.h"

/* The ranks that a context reaches, for a wrapped plugin of GIN v15 or RMA v17. */
struct nb_gin_peers {
	const int *list;
	int n;
	int *made; /* the list, if it is ours */
};

/*
 * Find the ranks: NCCL's list as it is, or each of a stride, in order, as NCCL
 * lists them. Returns false without memory. nb_gin_peers_free frees our list.
 */
bool nb_gin_peers_of(const struct nb_gin_config *k, struct nb_gin_peers *p);
void nb_gin_peers_free(struct nb_gin_peers *p);

/* The stride for an interface that has no list: NCCL gives 1 in place of its lists. */
static inline int nb_gin_stride(const struct nb_gin_config *k)
{
	return k->has_peers ? 1 : k->rank_stride;
}

#endif
