// SPDX-License-Identifier: MIT
/* The rule by which vLLM takes a kernel of its own for AllReduce: on one node of 2, 4, 6 or 8
 * ranks, sizes below a limit that depends on the ranks, in whole units of 16 bytes. Here such a
 * message takes the tree with LL, and the limits are an example. */
#include "ncclbpf_policy.h"

SEC("tuner")
int vllm_custom(struct ncclbpf_tuner *ctx)
{
	static const __u64 most[8] = { 0, MIB(64), 0, MIB(32), 0, KIB(512), 0, KIB(256) };
	__u32 i = ctx->ranks - 1;

	if (ctx->coll == NCCL_COLL_ALL_REDUCE && ctx->nodes == 1 && i < 8 && !(ctx->bytes & 15) &&
	    ctx->bytes < most[i])
		ncclbpf_choose(ctx, NCCL_ALGO_TREE, NCCL_PROTO_LL);
	return 0;
}
