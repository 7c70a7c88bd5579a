// EXPECT: accepted
// SPDX-License-Identifier: MIT
// Twin of answer_if_registered: all ranks agree on the nodes.
#include "ncclbpf_policy.h"

SEC("tuner")
int answer_if_one_node(struct ncclbpf_tuner *ctx)
{
	if (ctx->nodes == 1)
		ctx->channels = 8;
	return 0;
}
