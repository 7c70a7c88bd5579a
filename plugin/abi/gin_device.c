// SPDX-License-Identifier: MIT
/*
 * Entry points of GIN v14, which serves device types other than NCCL's proxy.
 */
#include "plugin/abi/gin_abi.h"
#include "plugin/gin/gin.h"

NB_GIN_FACE(gin_device, NB_GIN_DEVICE)

static int create_v14(void *coll, struct nb_gin_config_v14 *config, void **ctx, void **devh)
{
	struct nb_gin_config k = nb_gin_config_of(config);

	if (config) {
		k.backend_version = config->backend_version;
		k.rank_stride = config->rank_stride;
	}
	return nb_gin_create_context(coll, &k, ctx, devh);
}

NB_EXPORT struct nb_gin_table_v14 ncclGinPlugin_v14 = {
	.name = nb_net_name,
	.init = gin_device_init,
	.devices = gin_device_devices,
	.get_gin_properties = nb_gin_get_signals,
	.get_properties = gin_device_properties,
	.listen = gin_device_listen,
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
