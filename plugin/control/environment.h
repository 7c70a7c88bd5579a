// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_CONTROL_ENVIRONMENT_H
#define NB_PLUGIN_CONTROL_ENVIRONMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "core/spec/spec.h"

/*
 * A copy of the environment for `doctor`, made when the control socket is
 * created. The process may change its environment later, and getenv(3) is then
 * not thread-safe.
 */
enum { NB_ENV_TEXT = 96, NB_ENV_UNKNOWN = 8 };

struct nb_env {
	/* values of NCCL's variables, truncated; "" if not set */
	char algo[NB_ENV_TEXT], proto[NB_ENV_TEXT];
	char tuner_plugin[NB_ENV_TEXT];
	/* whether each of our own variables is set and not empty */
	bool given[NB_NPARAMS];
	/* variables with our prefix that are not in core/defs/params.h */
	uint32_t nunknown;
	char unknown[NB_ENV_UNKNOWN][NB_ENV_TEXT];
};

/* Copy the environment at init, in the thread that NCCL calls. */
void nb_env_read(struct nb_env *env);

#endif
