// EXPECT: local_output
// SPDX-License-Identifier: MIT
// near: ctx->reg_buff => ctx->ranks
// golden
// Whether buffers are registered is known to one rank alone.
#include "ncclbpf_policy.h"

SEC("tuner")
int answer_if_registered(struct ncclbpf_tuner *ctx)
{
	if (ctx->reg_buff)
		ctx->channels = 8;
	return 0;
}
