// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_GIN_TRANSPORT_H
#define NB_PLUGIN_GIN_TRANSPORT_H

#include "plugin/gin/extension.h"
#include "plugin/gin/op.h"
#include "plugin/net/transport.h"

/*
 * NCCL's GIN and RMA interfaces with our types, in the form of their newest
 * versions. A wrapped plugin of any version is called through them
 * (wrapped.c). Functions return enum nb_net_result.
 */

enum {
	/* device type: NCCL's proxy thread calls the plugin */
	NB_GIN_PROXY = 2,
	NB_GIN_SIGNAL_MEMORY = 1 /* reg_mr flag: this memory holds signals */
};

/* Arguments of createContext, in the layout of the newest version. */
struct nb_gin_config {
	/* 0 in queue_depth selects our default */
	int nsignals, ncounters, ncontexts, queue_depth;
	int traffic_class, backend_version;
	/*
	 * the ranks of the collComm that the context reaches: those in @peers,
	 * which NCCL frees after the call; or, if has_peers is false because
	 * NCCL's version has none, each rank_stride-th, with 0 for 1
	 */
	bool has_peers;
	const int *peers;
	int npeers;
	int rank_stride;
	/* this rank and the size of the collComm, which plugin/gin sets */
	int rank, nranks;
};

/* What a plugin's signals can do, in the layout of GIN v15's properties. */
struct nb_gin_signals {
	bool strong; /* a signal is visible only after all earlier puts */
	bool va;     /* a signal may be at any registered address */
	int barrier; /* 0: NCCL's usual barrier; 1: one that needs few signals */
};

/* What RMA v16 asks for a collComm. */
struct nb_rma_properties {
	/*
	 * a signal from any peer makes the puts of all peers visible that have
	 * been received before it
	 */
	bool flushes_all;
};

/* Memory that NCCL registers. */
struct nb_gin_memory {
	void *data;
	size_t size;
	int type; /* NB_NET_HOST_MEMORY or NB_NET_CUDA_MEMORY */
	uint64_t flags;
	bool dmabuf; /* memory is a DMA-BUF, which offset and fd describe */
	uint64_t offset;
	int fd;
};

/*
 * Arguments of connect. handles holds one handle of NB_NET_HANDLE bytes for
 * each rank.
 */
struct nb_gin_mesh {
	void *ctx;
	void **handles;
	int nranks, rank;
	/*
	 * connection and context numbers that NCCL passes before version 13; 0
	 * if not given
	 */
	int nconnections, queue_depth;
	int traffic_class;
	void *listen_comm;
	/* set by NCCL to abort; only wrapped plugins read it; NULL: none */
	const volatile uint32_t *abort_flag;
	/* called after each applied signal, if the transport tells of them */
	nb_gin_arrived *arrived;
	void *arg;
};

/*
 * Functions of a transport. Those marked "may be NULL" are optional. One thread
 * runs the data path of a collComm (post, test, progress). Another thread may
 * call reg_mr, dereg_mr and the context functions at the same time.
 */
struct nb_gin_ops {
	int (*init)(void **ctx, uint64_t comm_id, nb_net_logger *logger);
	int (*finalize)(void *ctx); /* a transport may leave finalize NULL */
	int (*devices)(int *n);
	int (*get_properties)(int dev, struct nb_net_props *props);
	/* only GIN v14 and v15 have this function */
	int (*signals)(struct nb_gin_signals *signals);
	int (*listen)(void *ctx, int dev, void *handle, void **listen_comm);
	int (*connect)(const struct nb_gin_mesh *mesh, void **coll);
	int (*create_context)(void *coll, const struct nb_gin_config *config,
			      /* a transport may leave create_context NULL */
			      void **ctx, void **dev_handle);
	/* a transport may leave destroy_context NULL */
	int (*destroy_context)(void *coll, void *ctx);
	int (*reg_mr)(void *coll, const struct nb_gin_memory *m, void **mhandle, void **gin_handle);
	int (*dereg_mr)(void *coll, void *mhandle);
	int (*close_coll)(void *coll);
	int (*close_listen)(void *listen_comm);
	/* NULL: a signal flushes the puts of its own peer only */
	int (*rma_properties)(void *coll, struct nb_rma_properties *p);
	/*
	 * Start an operation. The transport keeps @op until the operation is
	 * complete. @ctx is a context from create_context, or NULL.
	 */
	int (*post)(void *coll, void *ctx, struct nb_gin_op *op);
	/* Update the state of an operation. */
	int (*test)(void *coll, struct nb_gin_op *op);
	int (*progress)(void *coll, void *ctx);
	/*
	 * Sets @failed if the collComm has failed. Any thread may call it. May
	 * be NULL.
	 */
	int (*query_error)(void *coll, void *ctx, bool *failed);
	/*
	 * The functions of the plugin's extension (extension.h); all are NULL
	 * if it has none.
	 */
	uint32_t (*region)(void *mhandle);
	uint64_t (*queued)(void *coll, uint32_t rank);
	void (*link)(void *coll, uint32_t rank, struct nb_gin_link *link);
	uint64_t (*offences)(enum nb_gin_offence what);
	bool dmabuf; /* reg_mr accepts DMA-BUF memory */
	/* create_context takes a traffic class */
	bool takes_class;
};

#endif
