// SPDX-License-Identifier: MIT
// What must never be: from decision 300 on each rank chooses for itself. Only
// with NCCLBPF_COHERENCE=off is it accepted.
#include "ncclbpf_policy.h"

SEC("tuner")
int differs(struct ncclbpf_tuner *ctx)
{
	ctx->algo = NCCL_ALGO_RING;
	ctx->proto = NCCL_PROTO_SIMPLE;
	if (ctx->seq >= 300 && (bpf_get_prandom_u32() & 1))
		ctx->proto = NCCL_PROTO_LL;
	return 0;
}
