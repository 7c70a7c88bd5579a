// EXPECT: arg_context
// SPDX-License-Identifier: MIT
// near: &copy => ctx
// Costs belong to the context; a copy on the stack has none.
#include "ncclbpf_policy.h"

SEC("tuner")
int cost_of_something_else(struct ncclbpf_tuner *ctx)
{
	struct ncclbpf_tuner copy = { .bytes = ctx->bytes };

	ctx->channels = ncclbpf_cost(&copy, NCCL_ALGO_RING, 0) < 1000 ? 8 : 0;
	return 0;
}
