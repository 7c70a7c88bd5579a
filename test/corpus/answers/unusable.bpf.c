// SPDX-License-Identifier: MIT
// Asks for what NCCL rules out: CollNet on one node.
#include "ncclbpf_policy.h"

SEC("tuner")
int unusable(struct ncclbpf_tuner *ctx)
{
	ctx->algo = NCCL_ALGO_COLLNET_DIRECT;
	ctx->proto = NCCL_PROTO_SIMPLE;
	ctx->channels = 2;
	return 0;
}
