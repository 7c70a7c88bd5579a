// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_GIN_LIST_H
#define NB_PLUGIN_GIN_LIST_H

#include "plugin/gin/hooks.h"

/* A peer of an open collComm that is lost or stalled. */
struct nb_gin_broken {
	uint64_t comm_id;
	int rank, peer;	   /* our rank and the peer's, in the communicator */
	const char *state; /* constant string, as in struct nb_gin_link */
};
enum { NB_GIN_NAMED = 4 };

/*
 * Sums over open and closed collComms, shown by the commands `status`, `doctor`
 * and `gin`.
 */
struct nb_gin_sums {
	uint64_t live, opened;
	uint64_t puts, signals, gets, bytes, held;
	uint64_t in_puts, in_signals, in_bytes;
	/* number of errors returned to NCCL, also by connect */
	uint64_t errors;
	uint64_t broken; /* peers of open collComms that are lost or stalled */
	/* the first of these peers, min(broken, NB_GIN_NAMED) of them */
	struct nb_gin_broken named[NB_GIN_NAMED];
};

void nb_gin_list_add(struct nb_gin_coll *c);
/* Remove a collComm before it is closed. The sums keep its counts. */
void nb_gin_list_remove(struct nb_gin_coll *c);
/* Count an error of a call that belongs to no collComm. */
void nb_gin_list_error(void);
/* Empty the list in a forked child. */
void nb_gin_list_forked(void);

void nb_gin_list_sums(struct nb_gin_sums *out);
/* nb_gin_list_each calls this for each open collComm until it returns false. */
typedef bool nb_gin_coll_fn(const struct nb_gin_coll *c, void *arg);
void nb_gin_list_each(nb_gin_coll_fn *fn, void *arg);

#endif
