// SPDX-License-Identifier: MIT
// A loop of a thousand iterations: accepted by default, refused where
// NCCLBPF_MAX_RUN is smaller.
#include "ncclbpf_policy.h"

static __u64 sum;

static long iteration(__u64 i, void *ctx)
{
	sum += i;
	return 0;
}

SEC("tuner")
int long_run(struct ncclbpf_tuner *ctx)
{
	bpf_loop(1000, iteration, 0, 0);
	ctx->algo = NCCL_ALGO_RING;
	ctx->proto = NCCL_PROTO_LL;
	return 0;
}
