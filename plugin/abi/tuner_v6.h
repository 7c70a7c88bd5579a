// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_ABI_TUNER_V6_H
#define NB_PLUGIN_ABI_TUNER_V6_H

#include "plugin/abi/tuner_abi.h"

/* Tuner v6: NCCL 2.30 (ABI reference, 1.1, 1.2). */
struct nb_tuner_v6 {
	const char *name;
	int (*init)(void **context, uint64_t comm_id, size_t ranks,
		    size_t nodes, nb_nccl_logger *logger,
		    struct nb_nvl_domain_info *nvl,
		    struct nb_tuner_constants *constants);
	int (*get_coll_info)(void *context, int coll, size_t bytes,
			     int pipe_ops, float **table, int nalgo, int nproto,
			     int reg_buff, int *channels);
	int (*finalize)(void *context);
	int (*get_chunk_size)(void *context, int coll, size_t bytes, int algo,
			      int proto, int channels, size_t *chunk_size);
};
static_assert(offsetof(struct nb_tuner_v6, init) == 8, "ABI ref., 1.1");
static_assert(offsetof(struct nb_tuner_v6, get_coll_info) == 16,
	      "ABI ref., 1.1");
static_assert(offsetof(struct nb_tuner_v6, finalize) == 24, "ABI ref., 1.1");
static_assert(offsetof(struct nb_tuner_v6, get_chunk_size) == 32,
	      "ABI ref., 1.1");
static_assert(sizeof(struct nb_tuner_v6) == 40, "ABI ref., 1.1");

extern const struct nb_tuner_v6 ncclTunerPlugin_v6;

#endif
