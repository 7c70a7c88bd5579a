// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_GIN_HOOKS_H
#define NB_PLUGIN_GIN_HOOKS_H

#include <pthread.h>

#include "core/spec/spec.h"
#include "plugin/gin/transport.h"
#include "plugin/hooks/hooks.h"
#include "plugin/trace/telemetry.h"
#include "plugin/runtime/open_list.h"

/*
 * GIN objects (collComm, context, lane) and one function for each gin/... hook.
 * Callers check nb_hooks_on first, so a hook without programs costs one
 * load.
 */
enum {
	/* largest number of contexts of one collComm */
	NB_GIN_MAX_CONTEXTS = 256,
	NB_GIN_MAX_HOLD_NS = 10000000,
};
#define NB_GIN_NO_INDEX UINT64_MAX

struct nb_gin_coll;

/* Counters of one peer. One thread writes them; any thread may read them. */
struct nb_gin_counts {
	uint64_t puts, signals, gets, bytes, held;
	uint32_t outstanding, errors;
};

/* Operations from one context to one peer. They must keep their order. */
struct nb_gin_lane {
	struct nb_gin_counts counts;
	/* queue of operations that a program delays */
	struct nb_gin_op *first, *last;
	/* time at which the last delayed operation may be sent */
	uint64_t release_ns;
	/* next lane in the context's list of delayed lanes */
	struct nb_gin_lane *next;
	bool listed;
};

/* Latencies from post to completion, recorded while telemetry is on. */
enum nb_gin_time {
	NB_GIN_TIME_PUT, /* latency of puts and of signals */
	NB_GIN_TIME_GET,
	NB_GIN_NTIMES
};
struct nb_gin_times {
	struct nb_tel_time of[NB_GIN_NTIMES];
};

/*
 * A context that NCCL's createContext made. Before version 13, connect makes
 * it.
 */
struct nb_gin_context {
	struct nb_gin_coll *coll;
	/* the transport's context; NULL if the transport has none */
	void *inner;
	uint32_t slot;
	int ncontexts;
	bool closed;
	/*
	 * slab of operations; those with an index of at least fresh were never
	 * used
	 */
	struct nb_gin_op *slab, *spare;
	uint32_t nslab, fresh;
	uint32_t busy; /* number of operations in use; accessed atomically */
	/* lanes to all peers: ncontexts * nranks entries */
	struct nb_gin_lane *lane;
	/*
	 * array of ncontexts * nranks histograms; unused pages cost no memory
	 */
	struct nb_gin_times *times;
	/* list of the lanes that hold delayed operations */
	struct nb_gin_lane *held;
};

struct nb_gin_coll {
	/* the functions of the collComm's transport */
	const struct nb_gin_ops *ops;
	void *inner;
	uint64_t comm_id, id, born_ns;
	uint32_t dev, speed;
	int rank, nranks;
	/*
	 * error of a delayed operation, which the next post returns; accessed
	 * atomically
	 */
	int error;
	uint64_t number;      /* number of the next operation of this collComm */
	pthread_mutex_t lock; /* taken by threads that change context[] */
	/* accessed atomically */
	struct nb_gin_context *context[NB_GIN_MAX_CONTEXTS];
	/* context that connect made, in versions before 13 */
	struct nb_gin_context *first;
	/* link of the collComm in the list of list.c */
	struct nb_open_link open;
	struct nb_gin_counts peer[];
};

/*
 * Run the programs of gin/connect. Returns the traffic class that a program
 * chose, or NB_NET_CLASS_NONE.
 */
int nb_gin_run_connect(const struct nb_gin_coll *c, bool done);
/*
 * Run the programs of gin/put. Returns the delay of the operation in ns.
 * @behind_ns: how long the lane's last delayed operation still waits; 0: none
 * waits
 */
uint64_t nb_gin_run_put(const struct nb_gin_coll *c, const struct nb_gin_op *op, uint64_t now,
			uint64_t behind_ns);
void nb_gin_run_done(const struct nb_gin_coll *c, const struct nb_gin_op *op, int error);
void nb_gin_run_signal(const struct nb_gin_coll *c, const struct nb_gin_arrival *a);
void nb_gin_run_close(const struct nb_gin_coll *c);

#endif
