// SPDX-License-Identifier: MIT
// Wants traffic class 72 for every connection.
#include "ncclbpf_policy.h"

SEC("net/connect")
int wants(struct ncclbpf_net_connect *ctx)
{
	if (!ctx->done)
		ctx->traffic_class = 72;
	return 0;
}
