// SPDX-License-Identifier: MIT
// Tuner v6, NCCL 2.30: v5 and getChunkSize, which may be NULL and is: a chunk
// size that NCCL rounds down to 0 would not be caught.
#include "plugin/abi/tuner_v6.h"

#include "plugin/decide.h"

static int init(void **context, uint64_t comm_id, size_t ranks, size_t nodes,
		nb_nccl_logger *logger, struct nb_nvl_domain_info *nvl,
		struct nb_tuner_constants *constants)
{
	struct nb_tuner_init in = { .abi = 6,
				    .comm_id = comm_id,
				    .nvl = nvl,
				    .ranks = ranks,
				    .nodes = nodes,
				    .logger = logger };

	(void)constants;
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

NB_EXPORT const struct nb_tuner_v6 ncclTunerPlugin_v6 = {
	"ncclbpf", init, get_coll_info, nb_tuner_finalize, NULL
};
