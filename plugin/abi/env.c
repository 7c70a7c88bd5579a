// SPDX-License-Identifier: MIT
/*
 * Entry points of the env plugin: v1 (NCCL 2.28.7) and v2 (2.30.7). NCCL loads
 * the env plugin first and calls it while it holds its own locks, also its
 * logger's. So nothing here may log, not even during our initialisation: the
 * logger of v2 is stored afterwards, and earlier lines are kept until then.
 */
#include "plugin/abi/env_abi.h"
#include "plugin/env/override.h"
#include "plugin/process/process.h"
#include "plugin/runtime/log.h"

static int env_init_v1(uint8_t major, uint8_t minor, uint8_t patch, const char *suffix)
{
	(void)major, (void)minor, (void)patch, (void)suffix;
	if (nb_process_ready(NULL))
		nb_override_on();
	/*
	 * success in any case, because with an error ncclGetUniqueId would fail
	 */
	return NB_NCCL_SUCCESS;
}

static int env_init_v2(uint8_t major, uint8_t minor, uint8_t patch, const char *suffix,
		       nb_nccl_logger *logger)
{
	int rc = env_init_v1(major, minor, patch, suffix);

	nb_log_to(logger);
	return rc;
}

/*
 * NCCL calls this at exit. The values are not freed, because NCCL still holds
 * pointers to them.
 */
static int env_finalize(void)
{
	return NB_NCCL_SUCCESS;
}

static const char *env_get(const char *name)
{
	return nb_override_get(name);
}

NB_EXPORT const struct nb_env_plugin ncclEnvPlugin_v1 = {
	"ncclbpf", { .v1 = env_init_v1 }, env_finalize, env_get
};
NB_EXPORT const struct nb_env_plugin ncclEnvPlugin_v2 = {
	"ncclbpf", { .v2 = env_init_v2 }, env_finalize, env_get
};
