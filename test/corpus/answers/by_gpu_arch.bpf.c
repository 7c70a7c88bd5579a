// SPDX-License-Identifier: MIT
// Asks for as many channels as tell what a rank knows of the GPUs: 2 nothing, 3 that hosts differ,
// 4 gfx942, 5 the compute capability 9.0.
#include "ncclbpf_policy.h"

SEC("tuner")
int by_gpu_arch(struct ncclbpf_tuner *ctx)
{
	ncclbpf_choose(ctx, NCCL_ALGO_RING, NCCL_PROTO_SIMPLE);
	ctx->channels = ctx->gpu_arch == 0		 ? 2
			: ctx->gpu_arch == NCCLBPF_MIXED ? 3
			: ctx->gpu_arch == 942		 ? 4
							 : 5;
	return 0;
}
