// SPDX-License-Identifier: MIT
// Holds puts of one byte for 10 ms, and asks for more than that.
#include "ncclbpf_policy.h"

SEC("gin/put")
int hold(struct ncclbpf_gin_put *ctx)
{
	if (ctx->bytes == 1)
		ctx->hold_ns = 1000000000;
	return 0;
}
