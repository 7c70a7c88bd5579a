// SPDX-License-Identifier: MIT
// Tuner v4, NCCL 2.24 to 2.27: v3 and whether both buffers are registered, a
// fact of this rank alone, labelled local in the context.
#include "plugin/abi/tuner_v4.h"

#include "plugin/tuner/decide.h"

static int init(size_t ranks, size_t nodes, nb_nccl_logger *logger,
		void **context)
{
	struct nb_tuner_init in = {
		.abi = 4, .ranks = ranks, .nodes = nodes, .logger = logger
	};

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

NB_EXPORT const struct nb_tuner_v4 ncclTunerPlugin_v4 = { "ncclbpf", init,
							  get_coll_info,
							  nb_tuner_finalize };
