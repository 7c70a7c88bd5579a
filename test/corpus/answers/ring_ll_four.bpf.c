// SPDX-License-Identifier: MIT
// Asks for Ring with LL on four channels, whatever comes.
#include "ncclbpf_policy.h"

SEC("tuner")
int ring_ll_four(struct ncclbpf_tuner *ctx)
{
	ctx->algo = NCCL_ALGO_RING;
	ctx->proto = NCCL_PROTO_LL;
	ctx->channels = 4;
	return 0;
}
