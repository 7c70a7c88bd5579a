// EXPECT: local_output
// SPDX-License-Identifier: MIT
// near: bpf_get_smp_processor_id() => ctx->coll
// The same, but what is asked for differs from rank to rank.
#include "ncclbpf_policy.h"

SEC("tuner")
int cost_of_a_local_choice(struct ncclbpf_tuner *ctx)
{
	if (ncclbpf_cost(ctx, (int)bpf_get_smp_processor_id() & 3, NCCL_PROTO_SIMPLE) < 100000)
		ctx->channels = 8;
	return 0;
}
