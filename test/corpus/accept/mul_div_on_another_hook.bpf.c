// EXPECT: accepted
// SPDX-License-Identifier: MIT
// Twin of cost_on_another_hook: arithmetic needs no decision.
#include "ncclbpf_policy.h"

SEC("profiler/coll_done")
int mul_div_on_another_hook(struct ncclbpf_coll_done *ctx)
{
	return (int)bpf_mul_div(ctx->bytes, 1000, 7);
}
