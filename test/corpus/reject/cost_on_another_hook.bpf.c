// EXPECT: helper_unknown
// SPDX-License-Identifier: MIT
// near: (int)bpf_nccl_cost((void *)ctx, NCCL_ALGO_RING, 0) => 0
// Costs are a decision's; a collective that is over has none.
#include "ncclbpf_policy.h"

SEC("profiler/coll_done")
int cost_on_another_hook(struct ncclbpf_coll_done *ctx)
{
	return (int)bpf_nccl_cost((void *)ctx, NCCL_ALGO_RING, 0);
}
