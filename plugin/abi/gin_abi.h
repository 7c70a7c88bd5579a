// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_ABI_GIN_ABI_H
#define NB_PLUGIN_ABI_GIN_ABI_H

#include "plugin/abi/net_abi.h"
#include "plugin/gin/calls.h"

/*
 * NCCL's GIN ABI v11 to v13 and RMA ABI v14 and v15, in our own declarations.
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
static_assert(sizeof(struct nb_gin_config_v13) == 20, "GIN v13");
static_assert(sizeof(struct nb_gin_config_v14) == 28, "GIN v14");
static_assert(sizeof(struct nb_gin_signals) == 2, "GIN v14");
static_assert(sizeof(struct nb_rma_config) == 12, "RMA v14");

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
	int (*rma_v14)(void *coll, struct nb_rma_config *config, void **ctx);
};

union nb_gin_connect {
	int (*v11)(void *ctx, void *handles[], int nranks, int rank, void *listen_comm,
		   void **coll);
	int (*v12)(void *ctx, void *handles[], int nranks, int rank, int nconnections,
		   int queue_depth, void *listen_comm, void **coll);
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

#define NB_GIN_TABLE_HEAD                                                    \
	const char *name;                                                    \
	int (*init)(void **ctx, uint64_t comm_id, nb_net_logger *log);       \
	int (*devices)(int *n);                                              \
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
	NB_GIN_TABLE_HEAD;
	NB_GIN_TABLE_TAIL;
};

struct nb_gin_table { /* The table of GIN v13 and of RMA v13 to v15. */
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
static_assert(offsetof(struct nb_gin_table, progress) == 144, "RMA v14");

/*
 * The table of GIN v14, which has no data path: NCCL's proxy calls an RMA
 * plugin for that.
 */
struct nb_gin_table_v14 {
	const char *name;
	int (*init)(void **ctx, uint64_t comm_id, nb_net_logger *log);
	int (*devices)(int *n);
	int (*get_gin_properties)(struct nb_gin_signals *signals);
	int (*get_properties)(int dev, void *props);
	int (*listen)(void *ctx, int dev, void *handle, void **listen_comm);
	int (*connect)(void *ctx, void *handles[], int nranks, int rank, void *listen_comm,
		       void **coll);
	int (*create_context)(void *coll, struct nb_gin_config_v14 *config, void **ctx,
			      void **devh);
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
static_assert(offsetof(struct nb_gin_table_v14, destroy_context) == 88, "GIN v14");
static_assert(offsetof(struct nb_gin_table_v14, progress) == 112, "GIN v14");

/* Functions that GIN v14 shares with older versions (gin.c). */
int nb_gin_put_properties(enum nb_gin_face face, int dev, void *props, int version);
int nb_gin_connect_v13(void *ctx, void *handles[], int nranks, int rank, void *listen_comm,
		       void **coll);
int nb_gin_reg_v11(void *coll, void *data, size_t size, int type, uint64_t flags, void **mhandle,
		   void **gin_handle);
int nb_gin_reg_dmabuf_v11(void *coll, void *data, size_t size, int type, uint64_t offset, int fd,
			  uint64_t flags, void **mhandle, void **gin_handle);

/* The configuration that begins with the members of v13 at @config, or the default for NULL. */
struct nb_gin_config nb_gin_config_of(const void *config);

/* The functions of a table whose arguments do not name the face that NCCL calls. */
#define NB_GIN_FACE(name, face)                                                        \
	static int name##_init(void **ctx, uint64_t comm_id, nb_net_logger *log)       \
	{                                                                              \
		return nb_gin_init(face, ctx, comm_id, log, nb_net_ready(log));        \
	}                                                                              \
	static int name##_devices(int *n)                                              \
	{                                                                              \
		return nb_gin_devices(face, n);                                        \
	}                                                                              \
	static int name##_listen(void *ctx, int dev, void *handle, void **listen_comm) \
	{                                                                              \
		return nb_gin_listen(face, ctx, dev, handle, listen_comm);             \
	}                                                                              \
	static int name##_properties(int dev, void *props)                             \
	{                                                                              \
		return nb_gin_put_properties(face, dev, props, 12);                    \
	}

extern struct nb_gin_table_v11 ncclGinPlugin_v11, ncclGinPlugin_v12;
extern struct nb_gin_table_v14 ncclGinPlugin_v14;
extern struct nb_gin_table ncclGinPlugin_v13, ncclRmaPlugin_v14, ncclRmaPlugin_v15;

#endif
