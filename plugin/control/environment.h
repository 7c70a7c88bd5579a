// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_CONTROL_ENVIRONMENT_H
#define NB_PLUGIN_CONTROL_ENVIRONMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "core/spec/spec.h"

/*
 * The environment at the time the control socket was made, for `doctor`. The
 * process may change its environment later, and getenv(3) is not thread-safe
 * then.
 */
enum { NB_ENV_TEXT = 96, NB_ENV_UNKNOWN = 8 };

struct nb_env {
	/* values, cut to size; "" when not set */
	char algo[NB_ENV_TEXT], proto[NB_ENV_TEXT];
	char tuner_plugin[NB_ENV_TEXT];
	/* our own variables that are set and not empty */
	bool given[NB_NPARAMS];
	/* names with our prefix that no row of core/defs/params.h has */
	uint32_t nunknown;
	char unknown[NB_ENV_UNKNOWN][NB_ENV_TEXT];
};

/* Reads the environment; at init, in the thread that NCCL calls. */
void nb_env_read(struct nb_env *env);

#endif
