// SPDX-License-Identifier: MIT
// Names an algorithm and leaves the protocol open.
#include "ncclbpf_policy.h"

SEC("tuner")
int only_tree(struct ncclbpf_tuner *ctx)
{
	ctx->algo = NCCL_ALGO_TREE;
	return 0;
}
