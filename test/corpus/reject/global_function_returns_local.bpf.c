// EXPECT: local_output
// SPDX-License-Identifier: MIT
// near: bpf_get_prandom_u32() => 1
// The answer is local whatever the arguments are.
#include "ncclbpf_policy.h"

__noinline uint32_t jitter(uint32_t n)
{
	return n + bpf_get_prandom_u32();
}

SEC("tuner")
int global_function_returns_local(struct ncclbpf_tuner *ctx)
{
	ctx->channels = jitter(ctx->ranks) & 7;
	return 0;
}
