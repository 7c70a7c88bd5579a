// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_GIN_TRANSPORT_H
#define NB_PLUGIN_GIN_TRANSPORT_H

#include "plugin/gin/op.h"
#include "plugin/net/transport.h"

/*
 * What a GIN transport is: our own TCP (tcp.c), or a wrapped GIN or RMA plugin
 * (plugin/abi/wrapped_gin.c). Results are those of enum nb_net_result.
 */

enum {
	NB_GIN_PROXY = 2,	 /* device type: NCCL's thread calls us */
	NB_GIN_SIGNAL_MEMORY = 1 /* flag of reg_mr: signals live here */
};

/* What createContext asks for, in the newest version's shape. */
struct nb_gin_config {
	int nsignals, ncounters, ncontexts, queue_depth; /* depth 0: ours */
	int traffic_class, backend_version, rank_stride;
};

/* Memory to register. */
struct nb_gin_memory {
	void *data;
	size_t size;
	int type; /* NB_NET_HOST_MEMORY or NB_NET_CUDA_MEMORY */
	uint64_t flags;
	bool dmabuf; /* offset and fd are valid */
	uint64_t offset;
	int fd;
};

/* A signal that a transport has applied here. */
struct nb_gin_arrival {
	uint32_t rank, region, op;
	uint64_t offset, value;
	/* of this peer since its last signal; since_ns: when the first came */
	uint64_t puts, bytes, since_ns;
};

/* What connect gets. Handles are NB_NET_HANDLE bytes of each rank. */
struct nb_gin_mesh {
	void *ctx;
	void *const *handles;
	int nranks, rank;
	int nconnections, queue_depth; /* before v13; 0: not given */
	int traffic_class;
	void *listen_comm;
	/* called in the thread of progress and post */
	void (*arrived)(void *arg, const struct nb_gin_arrival *a);
	void *arg;
};

/* A transport's view of a peer. */
struct nb_gin_link {
	const char *state;   /* constant: "open", "closed", "stalled", "lost" */
	const char *offence; /* name of what it did; NULL: nothing */
	uint64_t in_puts, in_signals, in_bytes;
	uint64_t queued_bytes;
	char text[64]; /* "address:port"; "": not known */
};

/*
 * A transport. Functions marked "or NULL" may be missing. The data path of a
 * collComm (post, test, progress) has one thread; reg_mr, dereg_mr and contexts
 * may be used by another thread meanwhile.
 */
struct nb_gin_ops {
	int (*init)(void **ctx, uint64_t comm_id, nb_net_logger *logger);
	int (*finalize)(void *ctx); /* or NULL */
	int (*devices)(int *n);
	int (*get_properties)(int dev, struct nb_net_props *props);
	int (*listen)(void *ctx, int dev, void *handle, void **listen_comm);
	int (*connect)(const struct nb_gin_mesh *mesh, void **coll);
	int (*create_context)(void *coll, const struct nb_gin_config *config,
			      void **ctx, void **dev_handle); /* or NULL */
	int (*destroy_context)(void *ctx);		      /* or NULL */
	int (*reg_mr)(void *coll, const struct nb_gin_memory *m, void **mhandle,
		      void **gin_handle);
	int (*dereg_mr)(void *coll, void *mhandle);
	int (*close_coll)(void *coll);
	int (*close_listen)(void *listen_comm);
	/* Take an operation; it stays until it is done. @ctx: create_context's;
	 * NULL: none */
	int (*post)(void *coll, void *ctx, struct nb_gin_op *op);
	/* Ask for an operation's state */
	int (*test)(void *coll, struct nb_gin_op *op);
	int (*progress)(void *coll, void *ctx);
	int (*query_error)(void *ctx, bool *failed); /* or NULL */
	/* number of an operation's destination; or NULL */
	uint32_t (*region)(void *mhandle);
	/* bytes that wait for a peer's socket; or NULL */
	uint64_t (*queued)(void *coll, uint32_t rank);
	/* any thread; or NULL */
	void (*link)(void *coll, uint32_t rank, struct nb_gin_link *link);
	bool dmabuf; /* reg_mr takes DMA-BUF */
	bool takes_class;
};

#endif
