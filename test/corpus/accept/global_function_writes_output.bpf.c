// EXPECT: accepted
// SPDX-License-Identifier: MIT
// Twin of global_function_writes_output_of_local.
#include "ncclbpf_policy.h"

__noinline void set(struct ncclbpf_tuner *ctx, uint32_t n)
{
	ctx->channels = n;
}

SEC("tuner")
int global_function_writes_output(struct ncclbpf_tuner *ctx)
{
	bpf_get_prandom_u32();
	set(ctx, ctx->ranks & 7);
	return 0;
}
