// SPDX-License-Identifier: MIT
/* The rule of AWS's tuner (aws-ofi-nccl) for AllReduce on p5en with 8 ranks on each node: regions
 * of sizes and ranks with straight edges. The sizes of a border grow with the ranks, so each border
 * says up to which size a choice reaches. Both borders go on beyond their last corner. */
#include "ncclbpf_policy.h"

enum { RANKS_LEAST = 16, RANKS_MOST = 1 << 20, LL_MOST = KIB(256), RING_MOST = MIB(512) };

struct corner {
	__s64 bytes, ranks;
};

static const struct corner ll128[] = { { 14680064, 16 }, { 150994944, 128 }, { 251658240, 1024 } };
static const struct corner nvls[] = {
	{ 33554432, 16 }, { 536870912, 32 }, { 6442450944, 256 }, { 17179869184, 768 }
};

/* Is the size at most that of the border of @n corners? */
static __always_inline int within(const struct corner *c, int n, __s64 bytes, __s64 ranks)
{
	struct corner a = c[0], b = c[1];

	for (int i = 1; i < n - 1; i++)
		if (ranks > c[i].ranks) {
			a = c[i];
			b = c[i + 1];
		}
	return (bytes - a.bytes) * (b.ranks - a.ranks) <= (b.bytes - a.bytes) * (ranks - a.ranks);
}

SEC("tuner")
int aws_regions(struct ncclbpf_tuner *ctx)
{
	__s64 bytes = (__s64)ctx->bytes, ranks = ctx->ranks;

	if (ctx->coll != NCCL_COLL_ALL_REDUCE || ctx->ranks != 8 * ctx->nodes ||
	    ranks < RANKS_LEAST || ranks > RANKS_MOST || ctx->bytes > GIB(100))
		return 0;
	/* The first region lacks a corner at 0 bytes and many ranks: NCCL decides there. */
	if (bytes * (RANKS_MOST - RANKS_LEAST) < LL_MOST * (ranks - RANKS_LEAST))
		return 0;
	if (bytes <= LL_MOST)
		ncclbpf_choose(ctx, NCCL_ALGO_TREE, NCCL_PROTO_LL);
	else if (within(ll128, 3, bytes, ranks))
		ncclbpf_choose(ctx, NCCL_ALGO_TREE, NCCL_PROTO_LL128);
	else if (ranks <= 128 && bytes <= RING_MOST && within(nvls, 4, bytes, ranks))
		ncclbpf_choose(ctx, NCCL_ALGO_RING, NCCL_PROTO_LL128);
	else if (within(nvls, 4, bytes, ranks))
		ncclbpf_choose(ctx, NCCL_ALGO_NVLS_TREE, NCCL_PROTO_SIMPLE);
	else
		ncclbpf_choose(ctx, NCCL_ALGO_RING, NCCL_PROTO_SIMPLE);
	return 0;
}
