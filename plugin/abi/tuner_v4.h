// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_ABI_TUNER_V4_H
#define NB_PLUGIN_ABI_TUNER_V4_H

#include "plugin/abi/tuner_abi.h"

/* Tuner v4: NCCL 2.24 to 2.27 (ABI reference, 1.1, 1.2). */
struct nb_tuner_v4 {
	const char *name;
	int (*init)(size_t ranks, size_t nodes, nb_nccl_logger *logger,
		    void **context);
	int (*get_coll_info)(void *context, int coll, size_t bytes,
			     int pipe_ops, float **table, int nalgo, int nproto,
			     int reg_buff, int *channels);
	int (*destroy)(void *context);
};
static_assert(offsetof(struct nb_tuner_v4, init) == 8, "ABI ref., 1.1");
static_assert(offsetof(struct nb_tuner_v4, get_coll_info) == 16,
	      "ABI ref., 1.1");
static_assert(offsetof(struct nb_tuner_v4, destroy) == 24, "ABI ref., 1.1");
static_assert(sizeof(struct nb_tuner_v4) == 32, "ABI ref., 1.1");

extern const struct nb_tuner_v4 ncclTunerPlugin_v4;

#endif
