// SPDX-License-Identifier: MIT
// cheap_ring: stay on the ring where that costs next to nothing. NCCL takes
// whatever it predicts to be fastest, if only by a percent; but a job that
// overlaps communication with kernels may prefer one algorithm throughout: the
// ring needs no NVLS buffers and sums in the same order at all sizes. So ask
// for the ring with its cheapest protocol as long as NCCL itself predicts at
// most PERCENT more than for its own choice.
//
// Costs are NCCL's cost table, by which all ranks decide alike; where they are
// not known, NCCL's own choice stands.
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
