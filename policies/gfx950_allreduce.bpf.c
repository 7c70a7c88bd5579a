// SPDX-License-Identifier: MIT
/* gfx950_allreduce is for AllReduce on MI350X and MI355X (gfx950) with RCCL of
 * ROCm 7.13 and later. This RCCL has rules of its own for them, which it leaves
 * out where a tuner plugin is loaded, and then takes Simple where its rules take
 * LL. The policy brings them back. They are for one node of eight ranks and for
 * two nodes of sixteen; elsewhere RCCL's own choice stands, and so it does if
 * RCCL does not offer a combination.
 *
 * The rules are those of AMD's table of August 2026 (rccl_tuner_gfx950.csv in
 * ROCm/rocm-systems). Where RCCL has the file, `policy load` compiles it. */
#include "ncclbpf_policy.h"

/* the bound of AMD's table: 152 bytes less than 2 MiB */
enum { ONE_NODE_MOST = 2097000 };

/* @channels: 0 leaves them to RCCL */
static __always_inline void choose_with(struct ncclbpf_tuner *ctx, int algo, int proto,
					uint32_t channels)
{
	if (ncclbpf_choose(ctx, algo, proto))
		ctx->channels = channels;
}

static __always_inline void one_node(struct ncclbpf_tuner *ctx, uint64_t bytes)
{
	if (bytes < KIB(16))
		choose_with(ctx, NCCL_ALGO_TREE, NCCL_PROTO_LL, 1);
	else if (bytes < KIB(512))
		choose_with(ctx, NCCL_ALGO_RING, NCCL_PROTO_LL, 0);
	else if (bytes < MIB(1))
		choose_with(ctx, NCCL_ALGO_RING, NCCL_PROTO_LL, 32);
	else if (bytes <= ONE_NODE_MOST)
		choose_with(ctx, NCCL_ALGO_RING, NCCL_PROTO_LL, 56);
}

static __always_inline void two_nodes(struct ncclbpf_tuner *ctx, uint64_t bytes)
{
	if (bytes < MIB(32) || bytes > MIB(224))
		return;
	if (bytes < MIB(52))
		choose_with(ctx, NCCL_ALGO_RING, NCCL_PROTO_LL128, 64);
	else if (bytes < MIB(112))
		choose_with(ctx, NCCL_ALGO_TREE, NCCL_PROTO_SIMPLE, 64);
	else
		choose_with(ctx, NCCL_ALGO_RING, NCCL_PROTO_SIMPLE, 48);
}

SEC("tuner")
int gfx950_allreduce(struct ncclbpf_tuner *ctx)
{
	uint64_t bytes = ctx->bytes;

	if (ctx->coll != NCCL_COLL_ALL_REDUCE)
		return 0;
	if (ctx->nodes == 1 && ctx->ranks == 8)
		one_node(ctx, bytes);
	else if (ctx->nodes == 2 && ctx->ranks == 16)
		two_nodes(ctx, bytes);
	return 0;
}
