// SPDX-License-Identifier: MIT
/*
 * Entry points of GIN v14, which serves device types other than NCCL's proxy.
 */
#include "plugin/abi/gin_abi.h"
#include "plugin/gin/gin.h"

static int gin_init_v14(void **ctx, uint64_t comm_id, nb_net_logger *log)
{
	return nb_gin_init(NB_GIN_DEVICE, ctx, comm_id, log, nb_net_ready(log));
}

static int devices_v14(int *n)
{
	return nb_gin_devices(NB_GIN_DEVICE, n);
}

static int listen_v14(void *ctx, int dev, void *handle, void **listen_comm)
{
	return nb_gin_listen(NB_GIN_DEVICE, ctx, dev, handle, listen_comm);
}

static int properties_v14(int dev, void *props)
{
	return nb_gin_put_properties(NB_GIN_DEVICE, dev, props, 12);
}

static int create_v14(void *coll, struct nb_gin_config_v14 *config, void **ctx, void **devh)
{
	struct nb_gin_config k = { .ncontexts = 1, .traffic_class = NB_NET_CLASS_NONE };

	if (config)
		k = (struct nb_gin_config){
			.nsignals = config->nsignals,
			.ncounters = config->ncounters,
			.ncontexts = config->ncontexts,
			.queue_depth = config->queue_depth,
			.traffic_class = config->traffic_class,
			.backend_version = config->backend_version,
			.rank_stride = config->rank_stride,
		};
	return nb_gin_create_context(coll, &k, ctx, devh);
}

NB_EXPORT struct nb_gin_table_v14 ncclGinPlugin_v14 = {
	.name = nb_net_name,
	.init = gin_init_v14,
	.devices = devices_v14,
	.get_gin_properties = nb_gin_get_signals,
	.get_properties = properties_v14,
	.listen = listen_v14,
	.connect = nb_gin_connect_v13,
	.create_context = create_v14,
	.reg_mr = nb_gin_reg_v11,
	.reg_mr_dmabuf = nb_gin_reg_dmabuf_v11,
	.dereg_mr = nb_gin_dereg_mr,
	.destroy_context = nb_gin_destroy_context,
	.close_coll = nb_gin_close_coll,
	.close_listen = nb_gin_close_listen,
	.progress = nb_gin_progress,
	.query_last_error = nb_gin_query_error,
	.finalize = nb_gin_finalize,
};
