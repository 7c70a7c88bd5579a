// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_RUNTIME_PARAMS_H
#define NB_PLUGIN_RUNTIME_PARAMS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/spec/spec.h"

/* Values of NCCLBPF_* variables; rows in core/defs/params.h. */
struct nb_params {
	char *str[NB_NPARAMS];	 /* STR: the text, "" by default; else NULL */
	int64_t num[NB_NPARAMS]; /* INT: the value; ENUM: the choice's index */
	bool set[NB_NPARAMS];	 /* the environment has a valid value */
	bool nccl_filter;	 /* NCCL_ALGO or NCCL_PROTO is set */
};

/* The process's values. Constant after nb_params_read. */
extern struct nb_params nb_params;

/* Do the job's hosts change together (NCCLBPF_FLEET)? */
static inline bool nb_params_fleet(void)
{
	const char *urls = nb_params.str[NB_P_FLEET];

	return urls && *urls;
}

/*
 * nb_params_read - read the environment into nb_params, once
 *
 * Logs each invalid value (the default applies) and each unknown NCCLBPF_
 * name. 0, or NB_E_NOMEM, which is logged.
 */
int nb_params_read(void);
/* Free the texts. NCCLBPF_LOG keeps its value for lines that are still to be
 * written. */
void nb_params_free(void);

#endif
