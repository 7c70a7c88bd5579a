// SPDX-License-Identifier: MIT
/* cheap_ring uses the ring wherever the ring costs little. NCCL takes the
 * choice that it predicts to be fastest, even by one percent. A job that
 * overlaps communication with kernels may prefer one algorithm, since the ring
 * needs no NVLS buffers and sums in the same order at all sizes. The policy
 * asks for the ring with its cheapest protocol if NCCL predicts at most
 * PERCENT more than for its own choice.
 *
 * Costs come from NCCL's cost table, which is equal on all ranks. Without
 * known costs, NCCL's own choice stands. */
#include "ncclbpf_policy.h"

enum { PERCENT = 10 };

SEC("tuner")
int cheap_ring(struct ncclbpf_tuner *ctx)
{
	int proto = ncclbpf_cheapest_proto(ctx, NCCL_ALGO_RING);
	uint64_t ring, best;

	if (proto < 0 || ctx->nccl_algo < 0)
		return 0;
	ring = ncclbpf_cost(ctx, NCCL_ALGO_RING, proto);
	best = ncclbpf_cost(ctx, ctx->nccl_algo, ctx->nccl_proto);
	if (ring <= ncclbpf_sat_add(best, best / 100 * PERCENT))
		ncclbpf_choose(ctx, NCCL_ALGO_RING, proto);
	return 0;
}
