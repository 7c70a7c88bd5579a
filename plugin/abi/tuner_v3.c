// SPDX-License-Identifier: MIT
// Tuner v3, NCCL 2.22 and 2.23: the cost table appears, the communicator has no
// identity yet, and nothing is said of registered buffers.
#include "plugin/abi/tuner_v3.h"

#include "plugin/tuner/decide.h"

static int init(size_t ranks, size_t nodes, nb_nccl_logger *logger,
		void **context)
{
	struct nb_tuner_init in = {
		.abi = 3, .ranks = ranks, .nodes = nodes, .logger = logger
	};

	return nb_tuner_init(context, &in);
}

/* @table is declared as rows but is one block (ABI reference, 1.7). */
static NB_HOT int get_coll_info(void *context, int coll, size_t bytes,
				int pipe_ops, float **table, int nalgo,
				int nproto, int *channels)
{
	return nb_decide(context, coll, bytes, pipe_ops, (float *)(void *)table,
			 nalgo, nproto, 0, channels);
}

NB_EXPORT const struct nb_tuner_v3 ncclTunerPlugin_v3 = { "ncclbpf", init,
							  get_coll_info,
							  nb_tuner_finalize };
