// SPDX-License-Identifier: MIT
/* The rule of NVIDIA's basic example of a tuner: the ring with the simple protocol where NCCL
 * offers it, and one channel in any case. */
#include "ncclbpf_policy.h"

SEC("tuner")
int nvidia_basic(struct ncclbpf_tuner *ctx)
{
	ncclbpf_choose(ctx, NCCL_ALGO_RING, NCCL_PROTO_SIMPLE);
	ctx->channels = 1;
	return 0;
}
