// SPDX-License-Identifier: MIT
// Tuner v5, NCCL 2.28 and 2.29: the communicator's identity, NVLink domains,
// and the model's constants, which are left as they are by us.
#include "plugin/abi/tuner_v5.h"

#include "plugin/tuner/decide.h"

static int init(void **context, uint64_t comm_id, size_t ranks, size_t nodes,
		nb_nccl_logger *logger, struct nb_nvl_domain_info *nvl,
		struct nb_tuner_constants *constants)
{
	struct nb_tuner_init in = { .abi = 5,
				    .comm_id = comm_id,
				    .nvl = nvl,
				    .constants = constants,
				    .ranks = ranks,
				    .nodes = nodes,
				    .logger = logger };

	return nb_tuner_init(context, &in);
}

/* @table is declared as rows but is one block (ABI reference, 1.7). */
static NB_HOT int get_coll_info(void *context, int coll, size_t bytes,
				int pipe_ops, float **table, int nalgo,
				int nproto, int reg_buff, int *channels)
{
	return nb_decide(context, coll, bytes, pipe_ops, (float *)(void *)table,
			 nalgo, nproto, reg_buff, channels);
}

NB_EXPORT const struct nb_tuner_v5 ncclTunerPlugin_v5 = { "ncclbpf", init,
							  get_coll_info,
							  nb_tuner_finalize };
