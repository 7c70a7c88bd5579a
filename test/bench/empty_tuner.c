// SPDX-License-Identifier: MIT
// The least a native tuner plugin can do: the yardstick of decision.c.
#include "test/fakes/host/nccl.h"

static int init(void **ctx, uint64_t id, size_t ranks, size_t nodes, host_logger *log,
		struct host_nvl_domain_info *nvl, double *constants)
{
	static int state;

	(void)id, (void)ranks, (void)nodes, (void)log, (void)nvl;
	(void)constants;
	*ctx = &state;
	return 0;
}

static int get(void *ctx, int coll, size_t bytes, int pipe_ops, float **table, int algos,
	       int protos, int reg_buff, int *channels)
{
	(void)ctx, (void)coll, (void)bytes, (void)pipe_ops, (void)table;
	(void)algos, (void)protos, (void)reg_buff, (void)channels;
	return 0;
}

static int finalize(void *ctx)
{
	(void)ctx;
	return 0;
}

__attribute__((visibility("default")))
const struct host_tuner_v5 ncclTunerPlugin_v5 = { "empty", init, get, finalize };
