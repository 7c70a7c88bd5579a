// SPDX-License-Identifier: MIT
// Loops in loops: 10 times 100 calls of inner, and 20 more in a plain loop
// of 4. The inner ones cost most.
#include "ncclbpf_policy.h"

static __u64 sum;

static long inner(__u64 i, void *ctx)
{
	sum += i;
	return 0;
}

static long outer(__u64 i, void *ctx)
{
	bpf_loop(100, inner, 0, 0);
	return 0;
}

SEC("tuner")
int nested(struct ncclbpf_tuner *ctx)
{
	bpf_loop(10, outer, 0, 0);
#pragma clang loop unroll(disable)
	for (int i = 0; i < 4; i++)
		bpf_loop(5, inner, 0, 0);
	ctx->algo = NCCL_ALGO_RING;
	ctx->proto = NCCL_PROTO_LL;
	return 0;
}
