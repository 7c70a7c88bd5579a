// SPDX-License-Identifier: MIT
/* nvlink_ring_mid is for AllReduce inside one NVLink node. On 8 x B300 NCCL
 * prefers NVLS from a few MiB on, but the ring is faster up to 192 MiB: with
 * LL128 from 4 to 32 MiB, and with the simple protocol from 64 to 192 MiB. At
 * other sizes, for other collectives, for several nodes, and if the NVLink
 * domain is not known (before tuner v5), NCCL's own choice stands. */

#include "ncclbpf_policy.h"

static __always_inline int one_nvlink_node(const struct ncclbpf_tuner *ctx)
{
	return ctx->nodes == 1 && ctx->nvl_min_ranks > 1;
}

SEC("tuner")
int nvlink_ring_mid(struct ncclbpf_tuner *ctx)
{
	uint64_t bytes = ctx->bytes;

	if (ctx->coll != NCCL_COLL_ALL_REDUCE || !one_nvlink_node(ctx))
		return 0;
	if (bytes >= MIB(4) && bytes <= MIB(32))
		ncclbpf_choose(ctx, NCCL_ALGO_RING, NCCL_PROTO_LL128);
	else if (bytes >= MIB(64) && bytes <= MIB(192))
		ncclbpf_choose(ctx, NCCL_ALGO_RING, NCCL_PROTO_SIMPLE);
	return 0;
}
