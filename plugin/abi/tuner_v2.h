// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_ABI_TUNER_V2_H
#define NB_PLUGIN_ABI_TUNER_V2_H

#include "plugin/abi/tuner_abi.h"

/* Tuner v2: the only one that NCCL 2.21 knows (ABI reference, 1.1, 1.2). */
struct nb_tuner_v2 {
	const char *name;
	int (*init)(size_t ranks, size_t nodes, nb_nccl_logger *logger,
		    void **context);
	int (*get_coll_info)(void *context, int coll, size_t bytes, int collnet,
			     int nvls, int pipe_ops, int *algo, int *proto,
			     int *channels);
	int (*destroy)(void *context);
};
static_assert(offsetof(struct nb_tuner_v2, init) == 8, "ABI ref., 1.1");
static_assert(offsetof(struct nb_tuner_v2, get_coll_info) == 16,
	      "ABI ref., 1.1");
static_assert(offsetof(struct nb_tuner_v2, destroy) == 24, "ABI ref., 1.1");
static_assert(sizeof(struct nb_tuner_v2) == 32, "ABI ref., 1.1");

extern const struct nb_tuner_v2 ncclTunerPlugin_v2;

#endif
