// SPDX-License-Identifier: MIT
// Has an opinion on the channels alone.
#include "ncclbpf_policy.h"

SEC("tuner")
int two_channels(struct ncclbpf_tuner *ctx)
{
	ctx->channels = 2;
	return 0;
}
