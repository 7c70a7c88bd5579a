// EXPECT: accepted
// SPDX-License-Identifier: MIT
// All ranks have the same costs.
#include "ncclbpf_policy.h"

SEC("tuner")
int answer_from_cost(struct ncclbpf_tuner *ctx)
{
	int algo = ncclbpf_cheapest_algo(ctx, NCCL_PROTO_SIMPLE);

	if (ncclbpf_cost(ctx, algo, NCCL_PROTO_SIMPLE) < 100000)
		ncclbpf_choose(ctx, algo, NCCL_PROTO_SIMPLE);
	return 0;
}
