// EXPECT: accepted
// SPDX-License-Identifier: MIT
// The facts about the hosts are the same on all ranks, so an answer may depend on them. The twin,
// answer_if_registered.bpf.c, reads what may differ.
#include "ncclbpf_policy.h"

SEC("tuner")
int answer_by_platform(struct ncclbpf_tuner *ctx)
{
	if (ctx->gpu_arch == NCCLBPF_MIXED || ctx->nic_mbps == NCCLBPF_MIXED)
		return 0;
	if (ctx->gpu_arch >= 90 && ctx->nics == ctx->gpus_per_node && ctx->ranks_per_node == 8)
		ncclbpf_choose(ctx, NCCL_ALGO_RING, NCCL_PROTO_SIMPLE);
	ctx->channels = ctx->nic_mbps >= 400000 ? 32 : 16;
	return 0;
}
