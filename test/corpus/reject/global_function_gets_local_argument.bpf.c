// EXPECT: local_output
// SPDX-License-Identifier: MIT
// near: ctx->reg_buff => ctx->ranks
// The answer to a local argument is local.
#include "ncclbpf_policy.h"

__noinline uint32_t twice(uint32_t n)
{
	asm volatile("" : "+r"(n));
	return n * 2;
}

SEC("tuner")
int global_function_gets_local_argument(struct ncclbpf_tuner *ctx)
{
	ctx->channels = twice(ctx->reg_buff);
	return 0;
}
