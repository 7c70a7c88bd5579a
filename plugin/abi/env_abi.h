// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_ABI_ENV_ABI_H
#define NB_PLUGIN_ABI_ENV_ABI_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "plugin/abi/tuner_abi.h"

/*
 * NCCL's env ABI, versions 1 and 2, in our own declarations. A version is one
 * table of functions; init gets a logger in v2. NCCL uses it only if
 * NCCL_ENV_PLUGIN names this library.
 */
typedef int nb_env_init_v1(uint8_t major, uint8_t minor, uint8_t patch, const char *suffix);
typedef int nb_env_init_v2(uint8_t major, uint8_t minor, uint8_t patch, const char *suffix,
			   nb_nccl_logger *logger);

struct nb_env_plugin {
	const char *name;
	union {
		nb_env_init_v1 *v1;
		nb_env_init_v2 *v2;
	} init;
	int (*finalize)(void);
	const char *(*get_env)(const char *name);
};
static_assert(offsetof(struct nb_env_plugin, init) == 8, "ABI ref., 4");
static_assert(offsetof(struct nb_env_plugin, finalize) == 16, "ABI ref., 4");
static_assert(offsetof(struct nb_env_plugin, get_env) == 24, "ABI ref., 4");
static_assert(sizeof(struct nb_env_plugin) == 32, "ABI ref., 4");

extern const struct nb_env_plugin ncclEnvPlugin_v1, ncclEnvPlugin_v2;

#endif
