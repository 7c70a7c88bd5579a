// SPDX-License-Identifier: MIT
/*
 * Entry points of a GIN and RMA plugin for all versions but GIN v14 and v15.
 * Both our libraries with such a plugin have this file. The functions convert
 * arguments to the form of plugin/gin/calls.h. NCCL passes NULL contexts,
 * uninitialised properties and NULL device handles, which plugin/gin accepts.
 */
#include <string.h>

#include "plugin/abi/gin_abi.h"
#include "plugin/abi/tuner_abi.h"

int nb_gin_put_properties(enum nb_gin_face face, int dev, void *props, int version)
{
	struct nb_net_props p;
	int rc;

	if (!props)
		return NB_NET_ARGUMENT;
	rc = nb_gin_get_properties(face, dev, &p);
	if (!rc)
		nb_net_props_to(props, &p, version);
	return rc;
}

NB_GIN_FACE(gin_data, NB_GIN_DATA)

static int properties_v11(int dev, void *props)
{
	return nb_gin_put_properties(NB_GIN_DATA, dev, props, 11);
}

static int connect_any(struct nb_gin_mesh *m, void **coll)
{
	m->traffic_class = NB_NET_CLASS_NONE;
	return coll ? nb_gin_connect(m, coll) : NB_NET_ARGUMENT;
}

static int connect_v12(void *ctx, void *handles[], int nranks, int rank, int nconnections,
		       int queue_depth, void *listen_comm, void **coll)
{
	struct nb_gin_mesh m = { .ctx = ctx,
				 .handles = handles,
				 .nranks = nranks,
				 .rank = rank,
				 .nconnections = nconnections > 0 ? nconnections : 1,
				 .queue_depth = queue_depth,
				 .listen_comm = listen_comm };

	return connect_any(&m, coll);
}

static int gin_connect_v11(void *ctx, void *handles[], int nranks, int rank, void *listen_comm,
			   void **coll)
{
	return connect_v12(ctx, handles, nranks, rank, 1, 0, listen_comm, coll);
}

/* From v13 on, only createContext makes contexts. */
int nb_gin_connect_v15(void *ctx, void *handles[], int nranks, int rank, void *listen_comm,
		       void **coll, const volatile uint32_t *abort_flag)
{
	struct nb_gin_mesh m = { .ctx = ctx,
				 .handles = handles,
				 .nranks = nranks,
				 .rank = rank,
				 .listen_comm = listen_comm,
				 .abort_flag = abort_flag };

	return connect_any(&m, coll);
}

int nb_gin_connect_v13(void *ctx, void *handles[], int nranks, int rank, void *listen_comm,
		       void **coll)
{
	return nb_gin_connect_v15(ctx, handles, nranks, rank, listen_comm, coll, NULL);
}

static int create_v12(void *coll, int nsignals, int ncounters, int ncontexts, void **ctx,
		      void **devh)
{
	struct nb_gin_config k = { .nsignals = nsignals,
				   .ncounters = ncounters,
				   .ncontexts = ncontexts,
				   .traffic_class = NB_NET_CLASS_NONE };

	return nb_gin_create_context(coll, &k, ctx, devh);
}

static int create_v11(void *coll, int nsignals, int ncounters, void **ctx, void **devh)
{
	return create_v12(coll, nsignals, ncounters, 1, ctx, devh);
}

struct nb_gin_config nb_gin_config_of(const void *v13)
{
	const struct nb_gin_config_v13 *config = v13;

	if (!config)
		return (struct nb_gin_config){ .ncontexts = 1, .traffic_class = NB_NET_CLASS_NONE };
	return (struct nb_gin_config){
		.nsignals = config->nsignals,
		.ncounters = config->ncounters,
		.ncontexts = config->ncontexts,
		.queue_depth = config->queue_depth,
		.traffic_class = config->traffic_class,
	};
}

static int create_v13(void *coll, struct nb_gin_config_v13 *config, void **ctx, void **devh)
{
	struct nb_gin_config k = nb_gin_config_of(config);

	return nb_gin_create_context(coll, &k, ctx, devh);
}

static int create_rma(void *coll, struct nb_rma_config *config, void **ctx)
{
	struct nb_gin_config k = { .ncontexts = 1, .traffic_class = NB_NET_CLASS_NONE };

	if (config) {
		k.ncontexts = config->ncontexts;
		k.traffic_class = config->traffic_class;
		k.rank_stride = config->rank_stride;
	}
	return nb_gin_create_context(coll, &k, ctx, NULL);
}

static int create_rma_v17(void *coll, struct nb_rma_config_v17 *config, void **ctx)
{
	struct nb_gin_config k = { .ncontexts = 1, .traffic_class = NB_NET_CLASS_NONE };

	if (config) {
		k.ncontexts = config->ncontexts;
		k.traffic_class = config->traffic_class;
		k.has_peers = true;
		k.peers = config->peers;
		k.npeers = config->npeers;
	}
	return nb_gin_create_context(coll, &k, ctx, NULL);
}

int nb_gin_reg_v11(void *coll, void *data, size_t size, int type, uint64_t flags, void **mhandle,
		   void **gin_handle)
{
	struct nb_gin_memory m = { .data = data, .size = size, .type = type, .flags = flags };

	return nb_gin_reg_mr(coll, &m, mhandle, gin_handle);
}

static int reg_mr_rma(void *coll, void *data, size_t size, int type, uint64_t flags, void **mhandle)
{
	return nb_gin_reg_v11(coll, data, size, type, flags, mhandle, NULL);
}

int nb_gin_reg_dmabuf_v11(void *coll, void *data, size_t size, int type, uint64_t offset, int fd,
			  uint64_t flags, void **mhandle, void **gin_handle)
{
	struct nb_gin_memory m = { .data = data,
				   .size = size,
				   .type = type,
				   .flags = flags,
				   .dmabuf = true,
				   .offset = offset,
				   .fd = fd };

	return nb_gin_reg_mr(coll, &m, mhandle, gin_handle);
}

static int reg_dmabuf_rma(void *coll, void *data, size_t size, int type, uint64_t offset, int fd,
			  uint64_t flags, void **mhandle)
{
	return nb_gin_reg_dmabuf_v11(coll, data, size, type, offset, fd, flags, mhandle, NULL);
}

#define PUT(k)                                                                                   \
	{                                                                                        \
		.kind = (k), .rank = rank, .size = size, .src_off = src_off, .dst_off = dst_off, \
		.src = src, .dst = dst, .strong = true                                           \
	}
#define FILL_SIGNAL(o) \
	((o).signal_off = sig_off, (o).signal = sig, (o).value = value, (o).signal_op = op)

// NOLINTBEGIN(readability-function-size): the parameters are NCCL's
static int iput_v12(void *coll, NB_GIN_PUT_ARGS, int connection, void **req)
{
	struct nb_gin_words o = PUT(NB_GIN_PUT);

	o.context = (uint32_t)connection;
	return nb_gin_post_coll(coll, &o, req);
}

static int iput_v11(void *coll, NB_GIN_PUT_ARGS, void **req)
{
	return iput_v12(coll, src_off, src, size, dst_off, dst, rank, 0, req);
}

static int iput_rma_v15(void *ctx, int context, NB_GIN_PUT_ARGS, uint32_t flags, void **req)
{
	struct nb_gin_words o = PUT(NB_GIN_PUT);

	o.context = (uint32_t)context;
	o.flags = flags;
	return nb_gin_post(ctx, &o, req);
}

static int iput_v13(void *ctx, int context, NB_GIN_PUT_ARGS, void **req)
{
	return iput_rma_v15(ctx, context, src_off, src, size, dst_off, dst, rank, 0, req);
}

static int iput_signal_v12(void *coll, NB_GIN_PUT_ARGS, NB_GIN_SIGNAL_ARGS, int connection,
			   void **req)
{
	struct nb_gin_words o = PUT(NB_GIN_SIGNAL);

	FILL_SIGNAL(o);
	o.context = (uint32_t)connection;
	return nb_gin_post_coll(coll, &o, req);
}

static int iput_signal_v11(void *coll, NB_GIN_PUT_ARGS, NB_GIN_SIGNAL_ARGS, void **req)
{
	return iput_signal_v12(coll, src_off, src, size, dst_off, dst, rank, sig_off, sig, value,
			       op, 0, req);
}

static int iput_signal_rma_v15(void *ctx, int context, NB_GIN_PUT_ARGS, NB_GIN_SIGNAL_ARGS,
			       bool strong, uint32_t flags, void **req)
{
	struct nb_gin_words o = PUT(NB_GIN_SIGNAL);

	FILL_SIGNAL(o);
	o.context = (uint32_t)context;
	o.strong = strong;
	o.flags = flags;
	return nb_gin_post(ctx, &o, req);
}

static int iput_signal_rma_v14(void *ctx, int context, NB_GIN_PUT_ARGS, NB_GIN_SIGNAL_ARGS,
			       bool strong, void **req)
{
	return iput_signal_rma_v15(ctx, context, src_off, src, size, dst_off, dst, rank, sig_off,
				   sig, value, op, strong, 0, req);
}

static int iput_signal_v13(void *ctx, int context, NB_GIN_PUT_ARGS, NB_GIN_SIGNAL_ARGS, void **req)
{
	return iput_signal_rma_v15(ctx, context, src_off, src, size, dst_off, dst, rank, sig_off,
				   sig, value, op, true, 0, req);
}

static int iget_rma_v15(void *ctx, int context, uint64_t remote_off, void *remote, size_t size,
			uint64_t local_off, void *local, uint32_t rank, uint32_t flags, void **req)
{
	struct nb_gin_words o = { .kind = NB_GIN_GET,
				  .rank = rank,
				  .context = (uint32_t)context,
				  .flags = flags,
				  .size = size,
				  .src_off = remote_off,
				  .dst_off = local_off,
				  .src = remote,
				  .dst = local };

	return nb_gin_post(ctx, &o, req);
}
// NOLINTEND(readability-function-size)

static int iget_v13(void *ctx, int context, uint64_t remote_off, void *remote, size_t size,
		    uint64_t local_off, void *local, uint32_t rank, void **req)
{
	return iget_rma_v15(ctx, context, remote_off, remote, size, local_off, local, rank, 0, req);
}

static int iflush(void *ctx, int context, void *mhandle, uint32_t rank, void **req)
{
	struct nb_gin_words o = {
		.kind = NB_GIN_FLUSH, .rank = rank, .context = (uint32_t)context, .src = mhandle
	};

	return nb_gin_post(ctx, &o, req);
}

#define HEAD(props, conn, create, reg, dmabuf, put, signal)                                     \
	.name = nb_net_name, .init = gin_data_init, .devices = gin_data_devices,                \
	.get_properties = props, .listen = gin_data_listen, .connect = { conn },                \
	.create_context = { create }, .reg_mr = { reg }, .reg_mr_dmabuf = { dmabuf },           \
	.dereg_mr = nb_gin_dereg_mr, .destroy_context = nb_gin_destroy_context,                 \
	.close_coll = nb_gin_close_coll, .close_listen = nb_gin_close_listen, .iput = { put },  \
	.iput_signal = { signal }, .test = nb_gin_test, .query_last_error = nb_gin_query_error, \
	.finalize = nb_gin_finalize

NB_EXPORT struct nb_gin_table_v11 ncclGinPlugin_v11 = {
	HEAD(properties_v11, .v11 = gin_connect_v11, .v11 = create_v11, .v11 = nb_gin_reg_v11,
	     .v11 = nb_gin_reg_dmabuf_v11, .v11 = iput_v11, .v11 = iput_signal_v11),
	.progress = nb_gin_progress_coll,
};

NB_EXPORT struct nb_gin_table_v11 ncclGinPlugin_v12 = {
	HEAD(properties_v11, .v12 = connect_v12, .v12 = create_v12, .v11 = nb_gin_reg_v11,
	     .v11 = nb_gin_reg_dmabuf_v11, .v12 = iput_v12, .v12 = iput_signal_v12),
	.progress = nb_gin_progress_coll,
};

NB_EXPORT struct nb_gin_table ncclGinPlugin_v13 = {
	HEAD(gin_data_properties, .v11 = nb_gin_connect_v13, .v13 = create_v13,
	     .v11 = nb_gin_reg_v11, .v11 = nb_gin_reg_dmabuf_v11, .v13 = iput_v13,
	     .v13 = iput_signal_v13),
	.iget = { .v13 = iget_v13 },
	.iflush = iflush,
	.progress = nb_gin_progress,
};

NB_EXPORT struct nb_gin_table ncclRmaPlugin_v14 = {
	HEAD(gin_data_properties, .v11 = nb_gin_connect_v13, .rma_v14 = create_rma,
	     .rma_v14 = reg_mr_rma, .rma_v14 = reg_dmabuf_rma, .v13 = iput_v13,
	     .rma_v14 = iput_signal_rma_v14),
	.iget = { .v13 = iget_v13 },
	.iflush = iflush,
	.progress = nb_gin_progress,
};

NB_EXPORT struct nb_gin_table ncclRmaPlugin_v15 = {
	HEAD(gin_data_properties, .v11 = nb_gin_connect_v13, .rma_v14 = create_rma,
	     .rma_v14 = reg_mr_rma, .rma_v14 = reg_dmabuf_rma, .rma_v15 = iput_rma_v15,
	     .rma_v15 = iput_signal_rma_v15),
	.iget = { .rma_v15 = iget_rma_v15 },
	.iflush = iflush,
	.progress = nb_gin_progress,
};

NB_EXPORT struct nb_rma_table_v16 ncclRmaPlugin_v16 = {
	HEAD(gin_data_properties, .v11 = nb_gin_connect_v13, .rma_v14 = create_rma,
	     .rma_v14 = reg_mr_rma, .rma_v14 = reg_dmabuf_rma, .rma_v15 = iput_rma_v15,
	     .rma_v15 = iput_signal_rma_v15),
	.get_rma_properties = nb_gin_get_rma_properties,
	.iget = { .rma_v15 = iget_rma_v15 },
	.iflush = iflush,
	.progress = nb_gin_progress,
};

NB_EXPORT struct nb_rma_table_v16 ncclRmaPlugin_v17 = {
	HEAD(gin_data_properties, .v15 = nb_gin_connect_v15, .rma_v17 = create_rma_v17,
	     .rma_v14 = reg_mr_rma, .rma_v14 = reg_dmabuf_rma, .rma_v15 = iput_rma_v15,
	     .rma_v15 = iput_signal_rma_v15),
	.get_rma_properties = nb_gin_get_rma_properties,
	.iget = { .rma_v15 = iget_rma_v15 },
	.iflush = iflush,
	.progress = nb_gin_progress,
};
