// EXPECT: local_output
// SPDX-License-Identifier: MIT
// near: ctx->reg_buff => ctx->ranks
// It writes what it is given into an output, and is given local data.
#include "ncclbpf_policy.h"

__noinline void set(struct ncclbpf_tuner *ctx, uint32_t n)
{
	ctx->channels = n;
}

SEC("tuner")
int global_function_writes_output_of_local(struct ncclbpf_tuner *ctx)
{
	set(ctx, ctx->reg_buff);
	return 0;
}
