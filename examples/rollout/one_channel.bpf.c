// SPDX-License-Identifier: MIT
// A policy that verifies, and is bad: one channel for whatever is large.
#include "ncclbpf_policy.h"

SEC("tuner")
int one_channel(struct ncclbpf_tuner *ctx)
{
	if (ctx->bytes >= MIB(4))
		ctx->channels = 1;
	return 0;
}
