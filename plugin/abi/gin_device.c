// SPDX-License-Identifier: MIT
/*
 * Entry points of GIN v14 and v15, which serve device types other than NCCL's
 * proxy.
 */
#include "plugin/abi/gin_abi.h"
#include "plugin/abi/tuner_abi.h"
#include "plugin/gin/gin.h"

NB_GIN_FACE(gin_device, NB_GIN_DEVICE)

static int signals_v14(struct nb_gin_signals_v14 *signals)
{
	struct nb_gin_signals s;
	int rc = signals ? nb_gin_get_signals(&s) : NB_NET_ARGUMENT;

	if (!rc)
		*signals = (struct nb_gin_signals_v14){ s.strong, s.va };
	return rc;
}

static int create_v14(void *coll, struct nb_gin_config_v14 *config, void **ctx, void **devh)
{
	struct nb_gin_config k = nb_gin_config_of(config);

	if (config) {
		k.backend_version = config->backend_version;
		k.rank_stride = config->rank_stride;
	}
	return nb_gin_create_context(coll, &k, ctx, devh);
}

static int create_v15(void *coll, struct nb_gin_config_v15 *config, void **ctx, void **devh)
{
	struct nb_gin_config k = nb_gin_config_of(config);

	if (config) {
		k.backend_version = config->backend_version;
		k.has_peers = true;
		k.peers = config->peers;
		k.npeers = config->npeers;
	}
	return nb_gin_create_context(coll, &k, ctx, devh);
}

#define DEVICE_TABLE(signals, conn, create)                                             \
	.name = nb_net_name, .init = gin_device_init, .devices = gin_device_devices,    \
	.get_gin_properties = { signals }, .get_properties = gin_device_properties,     \
	.listen = gin_device_listen, .connect = { conn }, .create_context = { create }, \
	.reg_mr = nb_gin_reg_v11, .reg_mr_dmabuf = nb_gin_reg_dmabuf_v11,               \
	.dereg_mr = nb_gin_dereg_mr, .destroy_context = nb_gin_destroy_context,         \
	.close_coll = nb_gin_close_coll, .close_listen = nb_gin_close_listen,           \
	.progress = nb_gin_progress, .query_last_error = nb_gin_query_error,            \
	.finalize = nb_gin_finalize

NB_EXPORT struct nb_gin_table_v14 ncclGinPlugin_v14 = {
	DEVICE_TABLE(.v14 = signals_v14, .v11 = nb_gin_connect_v13, .v14 = create_v14),
};

NB_EXPORT struct nb_gin_table_v14 ncclGinPlugin_v15 = {
	DEVICE_TABLE(.v15 = nb_gin_get_signals, .v15 = nb_gin_connect_v15, .v15 = create_v15),
};
