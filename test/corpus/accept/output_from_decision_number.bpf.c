// EXPECT: accepted
// SPDX-License-Identifier: MIT
// Twin of output_from_time: seq is the same on all ranks.
#include "ncclbpf_policy.h"

SEC("tuner")
int output_from_decision_number(struct ncclbpf_tuner *ctx)
{
	ctx->channels = 1 + (ctx->seq & 7);
	return 0;
}
