// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_RUNTIME_PARAMS_H
#define NB_PLUGIN_RUNTIME_PARAMS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/spec/spec.h"

enum { NB_PARAMS_TEXT = 96, NB_PARAMS_UNKNOWN = 8 };

/* Values of the NCCLBPF_* variables, which are rows of core/defs/params.h. */
struct nb_params {
	/* text of a STR parameter, "" by default; else NULL */
	char *str[NB_NPARAMS];
	/* value of an INT parameter, or index of an ENUM's choice */
	int64_t num[NB_NPARAMS];
	/* the environment has a valid value of the parameter */
	bool set[NB_NPARAMS];
	/* the environment has a value that is not allowed */
	bool bad[NB_NPARAMS];
	/* variables with our prefix that are no parameters; the first of them
	 */
	uint32_t nunknown;
	char unknown[NB_PARAMS_UNKNOWN][NB_PARAMS_TEXT];
	/* values of NCCL's variables, truncated; "" if not set */
	char nccl_algo[NB_PARAMS_TEXT], nccl_proto[NB_PARAMS_TEXT];
	char nccl_tuner_plugin[NB_PARAMS_TEXT];
	bool nccl_filter; /* NCCL_ALGO or NCCL_PROTO is set */
};

/* The process's values, which are constant after nb_params_read. */
extern struct nb_params nb_params;

/* Returns true if the job's hosts change together (NCCLBPF_FLEET is set). */
static inline bool nb_params_fleet(void)
{
	const char *urls = nb_params.str[NB_P_FLEET];

	return urls && *urls;
}

/*
 * nb_params_read - read the environment into nb_params, once
 *
 * It logs each invalid value, whose default applies, and each unknown NCCLBPF_
 * name. Returns 0, or NB_E_NOMEM, which is logged.
 */
int nb_params_read(void);
/* Free the texts. Later lines are logged with the same NCCLBPF_LOG. */
void nb_params_free(void);

#endif
