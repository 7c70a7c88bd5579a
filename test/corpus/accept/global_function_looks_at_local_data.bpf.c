// EXPECT: accepted
// SPDX-License-Identifier: MIT
// Twin of global_function_returns_local: local data is recorded, not returned.
#include "ncclbpf_policy.h"

uint64_t last;

__noinline uint32_t record(uint32_t n)
{
	last = bpf_ktime_get_ns();
	return n * 2;
}

SEC("tuner")
int global_function_looks_at_local_data(struct ncclbpf_tuner *ctx)
{
	ctx->channels = record(ctx->ranks) & 7;
	return 0;
}
