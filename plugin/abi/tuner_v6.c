// SPDX-License-Identifier: MIT
// Tuner v6, NCCL 2.30: v5 and getChunkSize. Policies have no say in chunks: a
// size that NCCL rounds down to 0 would not be caught. A tuner that is called
// through us may have.
#include "plugin/abi/tuner_v6.h"

#include "plugin/tuner/decide.h"

static int init(void **context, uint64_t comm_id, size_t ranks, size_t nodes,
		nb_nccl_logger *logger, struct nb_nvl_domain_info *nvl,
		struct nb_tuner_constants *constants)
{
	struct nb_tuner_init in = { .abi = 6,
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

static int get_chunk_size(void *context, int coll, size_t bytes, int algo,
			  int proto, int channels, size_t *chunk_size)
{
	struct nb_comm *c = context;

	if (c && c->peer.chunk && chunk_size)
		nb_wrapped_tuner_chunk(c, coll, bytes, algo, proto, channels,
				       chunk_size);
	return NB_NCCL_SUCCESS;
}

NB_EXPORT const struct nb_tuner_v6 ncclTunerPlugin_v6 = {
	"ncclbpf", init, get_coll_info, nb_tuner_finalize, get_chunk_size
};
