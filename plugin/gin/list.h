// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_GIN_LIST_H
#define NB_PLUGIN_GIN_LIST_H

#include "plugin/gin/hooks.h"

/*
 * Open collComms, and the sums of closed ones, for `status`, `doctor` and
 * `gin`.
 */
struct nb_gin_sums {
	uint64_t live, opened;
	uint64_t puts, signals, gets, bytes, held;
	uint64_t in_puts, in_signals, in_bytes;
	uint64_t errors; /* that NCCL was given, connects included */
	uint64_t broken; /* living peers that are lost or stalled */
};

void nb_gin_list_add(struct nb_gin_coll *c);
/* Before it is closed; keeps its counts. */
void nb_gin_list_remove(struct nb_gin_coll *c);
/* Count an error of a call without a collComm. */
void nb_gin_list_error(void);
/* In a forked child: drop the parent's. */
void nb_gin_list_forked(void);

void nb_gin_list_sums(struct nb_gin_sums *out);
/* Call @fn for each open collComm until it returns false. */
typedef bool nb_gin_coll_fn(const struct nb_gin_coll *c, void *arg);
void nb_gin_list_each(nb_gin_coll_fn *fn, void *arg);

#endif
