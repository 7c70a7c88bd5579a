// EXPECT: local_control
// SPDX-License-Identifier: MIT
// near: ctx->reg_buff => ctx->ranks
// golden
// The value is coherent, but whether it is written depends on one rank.
#include "ncclbpf_policy.h"

SEC("tuner")
int write_if_registered(struct ncclbpf_tuner *ctx)
{
	__u32 n = ctx->ranks;

	asm volatile("" : "+r"(n));
	if (ctx->reg_buff)
		ctx->channels = n;
	return 0;
}
