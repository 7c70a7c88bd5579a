// SPDX-License-Identifier: MIT
// Tuner v2, NCCL 2.21 and, through an adapter, later ones. There is no cost
// table: the answer goes into two numbers, both of them or none, since NCCL
// 2.21 uses them unchecked if both are set.
#include "plugin/abi/tuner_v2.h"

#include "plugin/tuner/tuner.h"

static int init(size_t ranks, size_t nodes, nb_nccl_logger *logger,
		void **context)
{
	struct nb_tuner_init in = {
		.abi = 2, .ranks = ranks, .nodes = nodes, .logger = logger
	};

	return nb_tuner_init(context, &in);
}

static int get_coll_info(void *context, int coll, size_t bytes, int collnet,
			 int nvls, int pipe_ops, int *algo, int *proto,
			 int *channels)
{
	struct nb_ask ask = { .bytes = bytes,
			      .coll = coll,
			      .pipe_ops = pipe_ops,
			      .flags_only = true,
			      .collnet = collnet,
			      .nvls = nvls,
			      .algo = algo,
			      .proto = proto,
			      .channels = channels };

	nb_tuner_decide(context, &ask);
	return NB_NCCL_SUCCESS;
}

NB_EXPORT const struct nb_tuner_v2 ncclTunerPlugin_v2 = { "ncclbpf", init,
							  get_coll_info,
							  nb_tuner_finalize };
