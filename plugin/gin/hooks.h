// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_GIN_HOOKS_H
#define NB_PLUGIN_GIN_HOOKS_H

#include <pthread.h>

#include "core/spec/spec.h"
#include "plugin/gin/transport.h"
#include "plugin/profiler/hooks.h"

/*
 * The objects behind the hooks gin/..., and one function a hook. Callers check
 * nb_events_hooked first, so a hook without programs costs one load.
 */
enum {
	NB_GIN_MAX_CONTEXTS = 256, /* in a collComm */
	NB_GIN_MAX_HOLD_NS = 10000000,
};
#define NB_GIN_NO_INDEX UINT64_MAX

struct nb_gin_coll;

/* Counters of a peer; one thread writes, any may read. */
struct nb_gin_counts {
	uint64_t puts, signals, gets, bytes, held;
	uint32_t outstanding, errors;
};

/* Operations of one context to one peer, which must not overtake each other. */
struct nb_gin_lane {
	struct nb_gin_counts counts;
	struct nb_gin_op *first, *last; /* held back */
	uint64_t release_ns;		/* of the last one */
	struct nb_gin_lane *next; /* in the context's list of held lanes */
	bool listed;
};

/* From post to done; written while telemetry is on. */
enum nb_gin_time {
	NB_GIN_TIME_PUT, /* puts and signals */
	NB_GIN_TIME_GET,
	NB_GIN_NTIMES
};
struct nb_gin_times {
	struct nb_tel_time of[NB_GIN_NTIMES];
};

/* What createContext made; before v13 connect makes one. */
struct nb_gin_context {
	struct nb_gin_coll *coll;
	void *inner; /* the transport's; NULL: it has none */
	uint32_t slot;
	int ncontexts;
	bool closed;
	/* operations: those from fresh on were never used */
	struct nb_gin_op *slab, *spare;
	uint32_t nslab, fresh;
	uint32_t busy;		  /* atomic: operations in use */
	struct nb_gin_lane *lane; /* ncontexts * nranks */
	/* likewise; memory that is never written costs nothing */
	struct nb_gin_times *times;
	struct nb_gin_lane *held; /* lanes with operations that wait */
};

struct nb_gin_coll {
	const struct nb_gin_ops *ops; /* the transport */
	void *inner;
	uint64_t comm_id, id, born_ns;
	uint32_t dev, speed;
	int rank, nranks;
	int error;	      /* of an operation that was held back */
	uint64_t number;      /* of the next operation */
	pthread_mutex_t lock; /* of context[] for writers */
	/* accessed atomically */
	struct nb_gin_context *context[NB_GIN_MAX_CONTEXTS];
	struct nb_gin_context *first;	     /* before v13 */
	struct nb_gin_coll *before, *behind; /* list.c's */
	bool listed;			     /* likewise */
	struct nb_gin_counts peer[];
};

/* Returns the traffic class wanted; NB_NET_CLASS_NONE: no opinion. */
int nb_gin_run_connect(const struct nb_gin_coll *c, bool done);
/* Returns how long to hold the operation; @behind_ns: the one before it. */
uint64_t nb_gin_run_put(const struct nb_gin_coll *c, const struct nb_gin_op *op,
			uint64_t now, uint64_t behind_ns);
void nb_gin_run_done(const struct nb_gin_coll *c, const struct nb_gin_op *op,
		     int error);
void nb_gin_run_signal(const struct nb_gin_coll *c,
		       const struct nb_gin_arrival *a);
void nb_gin_run_close(const struct nb_gin_coll *c);

#endif
