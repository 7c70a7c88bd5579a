// EXPECT: local_control
// SPDX-License-Identifier: MIT
// near: ctx->reg_buff => ctx->ranks
// It writes an output, and whether it is called is local.
#include "ncclbpf_policy.h"

__noinline void set(struct ncclbpf_tuner *ctx, uint32_t n)
{
	ctx->channels = n;
}

SEC("tuner")
int global_function_called_by_local_branch(struct ncclbpf_tuner *ctx)
{
	if (ctx->reg_buff)
		set(ctx, 4);
	return 0;
}
