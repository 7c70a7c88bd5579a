// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_GIN_ABI_H
#define NB_PLUGIN_GIN_ABI_H

#include "plugin/gin/calls.h"
#include "plugin/net/abi.h"

/*
 * NCCL's GIN ABI v11 to v15 and RMA ABI v14 to v17, in our own declarations.
 * RMA v13 is GIN v13 under another name. All members of a table are pointers.
 */

struct nb_gin_config_v13 {
	int nsignals, ncounters, ncontexts, queue_depth, traffic_class;
};

struct nb_rma_config {
	int ncontexts, traffic_class, rank_stride;
};
/* The first members of this structure are those of v13. */
struct nb_gin_config_v14 {
	int nsignals, ncounters, ncontexts, queue_depth, traffic_class;
	int backend_version, rank_stride;
};
/* So are those of this one. Instead of a stride it has the numbers of ranks of the collComm. */
struct nb_gin_config_v15 {
	int nsignals, ncounters, ncontexts, queue_depth, traffic_class;
	int backend_version;
	const int *peers;
	int npeers;
};
struct nb_rma_config_v17 {
	int ncontexts, traffic_class;
	const int *peers;
	int npeers;
};
struct nb_gin_signals_v14 {
	bool strong, va;
};
static_assert(sizeof(struct nb_gin_config_v13) == 20, "GIN v13");
static_assert(sizeof(struct nb_gin_config_v14) == 28, "GIN v14");
static_assert(offsetof(struct nb_gin_config_v14, traffic_class) == 16, "as GIN v13");
static_assert(sizeof(struct nb_gin_config_v15) == 40, "GIN v15");
static_assert(offsetof(struct nb_gin_config_v15, traffic_class) == 16, "as GIN v13");
static_assert(offsetof(struct nb_gin_config_v15, backend_version) == 20, "GIN v15");
static_assert(offsetof(struct nb_gin_config_v15, peers) == 24, "GIN v15");
static_assert(offsetof(struct nb_gin_config_v15, npeers) == 32, "GIN v15");
static_assert(sizeof(struct nb_gin_signals_v14) == 2, "GIN v14");
static_assert(sizeof(struct nb_gin_signals) == 8, "GIN v15");
static_assert(offsetof(struct nb_gin_signals, barrier) == 4, "GIN v15");
static_assert(sizeof(struct nb_rma_config) == 12, "RMA v14");
static_assert(sizeof(struct nb_rma_config_v17) == 24, "RMA v17");
static_assert(offsetof(struct nb_rma_config_v17, peers) == 8, "RMA v17");
static_assert(offsetof(struct nb_rma_config_v17, npeers) == 16, "RMA v17");
static_assert(sizeof(struct nb_rma_properties) == 1, "RMA v16");

/*
 * Functions whose signature changed. The suffix is the first version that has
 * the signature.
 */

/*
 * Arguments of a put: source offset and handle, size, target offset and handle,
 * rank.
 */
#define NB_GIN_PUT_ARGS \
	uint64_t src_off, void *src, size_t size, uint64_t dst_off, void *dst, uint32_t rank
#define NB_GIN_SIGNAL_ARGS uint64_t sig_off, void *sig, uint64_t value, uint32_t op

union nb_gin_create {
	int (*v11)(void *coll, int nsignals, int ncounters, void **ctx, void **devh);
	int (*v12)(void *coll, int nsignals, int ncounters, int ncontexts, void **ctx, void **devh);
	int (*v13)(void *coll, struct nb_gin_config_v13 *config, void **ctx, void **devh);
	int (*v14)(void *coll, struct nb_gin_config_v14 *config, void **ctx, void **devh);
	int (*v15)(void *coll, struct nb_gin_config_v15 *config, void **ctx, void **devh);
	int (*rma_v14)(void *coll, struct nb_rma_config *config, void **ctx);
	int (*rma_v17)(void *coll, struct nb_rma_config_v17 *config, void **ctx);
};

/*
 * v15 is also the one of RMA v17. NCCL sets *@abort_flag when it aborts the communicator. Trees of
 * NCCL between two releases have v15 without this argument, so our own functions never follow the
 * pointer; a wrapped plugin gets it as it is.
 */
union nb_gin_connect {
	int (*v11)(void *ctx, void *handles[], int nranks, int rank, void *listen_comm,
		   void **coll);
	int (*v12)(void *ctx, void *handles[], int nranks, int rank, int nconnections,
		   int queue_depth, void *listen_comm, void **coll);
	int (*v15)(void *ctx, void *handles[], int nranks, int rank, void *listen_comm, void **coll,
		   const volatile uint32_t *abort_flag);
};

union nb_gin_get_signals {
	int (*v14)(struct nb_gin_signals_v14 *signals);
	int (*v15)(struct nb_gin_signals *signals);
};

union nb_gin_reg_mr {
	int (*v11)(void *coll, void *data, size_t size, int type, uint64_t flags, void **mhandle,
		   void **gin_handle);
	int (*rma_v14)(void *coll, void *data, size_t size, int type, uint64_t flags,
		       void **mhandle);
};

union nb_gin_reg_dmabuf {
	int (*v11)(void *coll, void *data, size_t size, int type, uint64_t offset, int fd,
		   uint64_t flags, void **mhandle, void **gin_handle);
	int (*rma_v14)(void *coll, void *data, size_t size, int type, uint64_t offset, int fd,
		       uint64_t flags, void **mhandle);
};

union nb_gin_iput {
	int (*v11)(void *coll, NB_GIN_PUT_ARGS, void **req);
	int (*v12)(void *coll, NB_GIN_PUT_ARGS, int connection, void **req);
	int (*v13)(void *ctx, int context, NB_GIN_PUT_ARGS, void **req);
	int (*rma_v15)(void *ctx, int context, NB_GIN_PUT_ARGS, uint32_t flags, void **req);
};

union nb_gin_iput_signal {
	int (*v11)(void *coll, NB_GIN_PUT_ARGS, NB_GIN_SIGNAL_ARGS, void **req);
	int (*v12)(void *coll, NB_GIN_PUT_ARGS, NB_GIN_SIGNAL_ARGS, int connection, void **req);
	int (*v13)(void *ctx, int context, NB_GIN_PUT_ARGS, NB_GIN_SIGNAL_ARGS, void **req);
	int (*rma_v14)(void *ctx, int context, NB_GIN_PUT_ARGS, NB_GIN_SIGNAL_ARGS, bool strong,
		       void **req);
	int (*rma_v15)(void *ctx, int context, NB_GIN_PUT_ARGS, NB_GIN_SIGNAL_ARGS, bool strong,
		       uint32_t flags, void **req);
};

union nb_gin_iget {
	int (*v13)(void *ctx, int context, uint64_t remote_off, void *remote, size_t size,
		   uint64_t local_off, void *local, uint32_t rank, void **req);
	int (*rma_v15)(void *ctx, int context, uint64_t remote_off, void *remote, size_t size,
		       uint64_t local_off, void *local, uint32_t rank, uint32_t flags, void **req);
};

#define NB_GIN_TABLE_FIRST                                             \
	const char *name;                                              \
	int (*init)(void **ctx, uint64_t comm_id, nb_net_logger *log); \
	int (*devices)(int *n)
#define NB_GIN_TABLE_HEAD                                                    \
	int (*get_properties)(int dev, void *props);                         \
	int (*listen)(void *ctx, int dev, void *handle, void **listen_comm); \
	union nb_gin_connect connect;                                        \
	union nb_gin_create create_context;                                  \
	union nb_gin_reg_mr reg_mr;                                          \
	union nb_gin_reg_dmabuf reg_mr_dmabuf;                               \
	int (*dereg_mr)(void *coll, void *mhandle);                          \
	int (*destroy_context)(void *ctx);                                   \
	int (*close_coll)(void *coll);                                       \
	int (*close_listen)(void *listen_comm);                              \
	union nb_gin_iput iput;                                              \
	union nb_gin_iput_signal iput_signal
#define NB_GIN_TABLE_TAIL                                      \
	int (*test)(void *coll, void *req, int *done);         \
	/* argument: a collComm before v13, a context since */ \
	int (*progress)(void *coll);                           \
	int (*query_last_error)(void *ctx, bool *has_error);   \
	int (*finalize)(void *ctx)

struct nb_gin_table_v11 { /* this table is also used for v12 */
	NB_GIN_TABLE_FIRST;
	NB_GIN_TABLE_HEAD;
	NB_GIN_TABLE_TAIL;
};

struct nb_gin_table { /* The table of GIN v13 and of RMA v13 to v15. */
	NB_GIN_TABLE_FIRST;
	NB_GIN_TABLE_HEAD;
	union nb_gin_iget iget;
	int (*iflush)(void *ctx, int context, void *mhandle, uint32_t rank, void **req);
	NB_GIN_TABLE_TAIL;
};

/* The table of RMA v16 and v17: one function more, and the same others behind it. */
struct nb_rma_table_v16 {
	NB_GIN_TABLE_FIRST;
	int (*get_rma_properties)(void *coll, struct nb_rma_properties *p);
	NB_GIN_TABLE_HEAD;
	union nb_gin_iget iget;
	int (*iflush)(void *ctx, int context, void *mhandle, uint32_t rank, void **req);
	NB_GIN_TABLE_TAIL;
};
static_assert(sizeof(struct nb_gin_table_v11) == 152, "GIN v11");
static_assert(offsetof(struct nb_gin_table_v11, connect) == 40, "GIN v11");
static_assert(offsetof(struct nb_gin_table_v11, iput) == 104, "GIN v11");
static_assert(offsetof(struct nb_gin_table_v11, test) == 120, "GIN v11");
static_assert(offsetof(struct nb_gin_table_v11, finalize) == 144, "GIN v11");
static_assert(sizeof(struct nb_gin_table) == 168, "GIN v13");
static_assert(offsetof(struct nb_gin_table, iget) == 120, "GIN v13");
static_assert(offsetof(struct nb_gin_table, test) == 136, "GIN v13");
static_assert(offsetof(struct nb_gin_table, iflush) == 128, "GIN v13");
static_assert(offsetof(struct nb_gin_table, progress) == 144, "RMA v14");
static_assert(offsetof(struct nb_gin_table, finalize) == 160, "GIN v13");
static_assert(sizeof(struct nb_rma_table_v16) == 176, "RMA v16");
static_assert(offsetof(struct nb_rma_table_v16, get_rma_properties) == 24, "RMA v16");
static_assert(offsetof(struct nb_rma_table_v16, get_properties) == 32, "RMA v16");
static_assert(offsetof(struct nb_rma_table_v16, connect) == 48, "RMA v16");
static_assert(offsetof(struct nb_rma_table_v16, create_context) == 56, "RMA v16");
static_assert(offsetof(struct nb_rma_table_v16, reg_mr) == 64, "RMA v16");
static_assert(offsetof(struct nb_rma_table_v16, destroy_context) == 88, "RMA v16");
static_assert(offsetof(struct nb_rma_table_v16, iput) == 112, "RMA v16");
static_assert(offsetof(struct nb_rma_table_v16, iget) == 128, "RMA v16");
static_assert(offsetof(struct nb_rma_table_v16, iflush) == 136, "RMA v16");
static_assert(offsetof(struct nb_rma_table_v16, test) == 144, "RMA v16");
static_assert(offsetof(struct nb_rma_table_v16, progress) == 152, "RMA v16");
static_assert(offsetof(struct nb_rma_table_v16, finalize) == 168, "RMA v16");

/*
 * The table of GIN v14 and v15, which has no data path: NCCL's proxy calls an
 * RMA plugin for that.
 */
struct nb_gin_table_v14 {
	const char *name;
	int (*init)(void **ctx, uint64_t comm_id, nb_net_logger *log);
	int (*devices)(int *n);
	union nb_gin_get_signals get_gin_properties;
	int (*get_properties)(int dev, void *props);
	int (*listen)(void *ctx, int dev, void *handle, void **listen_comm);
	union nb_gin_connect connect;
	union nb_gin_create create_context;
	int (*reg_mr)(void *coll, void *data, size_t size, int type, uint64_t flags, void **mhandle,
		      void **gin_handle);
	int (*reg_mr_dmabuf)(void *coll, void *data, size_t size, int type, uint64_t offset, int fd,
			     uint64_t flags, void **mhandle, void **gin_handle);
	int (*dereg_mr)(void *coll, void *mhandle);
	int (*destroy_context)(void *ctx);
	int (*close_coll)(void *coll);
	int (*close_listen)(void *listen_comm);
	int (*progress)(void *ctx);
	int (*query_last_error)(void *ctx, bool *has_error);
	int (*finalize)(void *ctx);
};
static_assert(sizeof(struct nb_gin_table_v14) == 136, "GIN v14");
static_assert(offsetof(struct nb_gin_table_v14, get_gin_properties) == 24, "GIN v14");
static_assert(offsetof(struct nb_gin_table_v14, create_context) == 56, "GIN v14");
static_assert(offsetof(struct nb_gin_table_v14, reg_mr) == 64, "GIN v14");
static_assert(offsetof(struct nb_gin_table_v14, destroy_context) == 88, "GIN v14");
static_assert(offsetof(struct nb_gin_table_v14, progress) == 112, "GIN v14");
static_assert(offsetof(struct nb_gin_table_v14, finalize) == 128, "GIN v14");

#endif
