// EXPECT: accepted
// SPDX-License-Identifier: MIT
// Twin of global_function_gets_local_argument.
#include "ncclbpf_policy.h"

__noinline uint32_t twice(uint32_t n)
{
	asm volatile("" : "+r"(n));
	return n * 2;
}

SEC("tuner")
int global_function_gets_coherent_argument(struct ncclbpf_tuner *ctx)
{
	bpf_get_prandom_u32();
	ctx->channels = twice(ctx->ranks & 7);
	return 0;
}
