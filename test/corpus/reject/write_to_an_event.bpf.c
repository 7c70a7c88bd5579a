// EXPECT: ctx_read_only
// SPDX-License-Identifier: MIT
// near: ctx->gpu_ns = 0 => (void)ctx
// What has happened cannot be changed.
#include "ncclbpf_policy.h"

SEC("profiler/kernel_ch")
int write_to_an_event(struct ncclbpf_kernel_ch *ctx)
{
	ctx->gpu_ns = 0;
	return 0;
}
