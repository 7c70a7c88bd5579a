// EXPECT: global_function
// SPDX-License-Identifier: MIT
// near: (uint64_t)ctx => ctx->bytes
// Declared to return a number, it returns an address.
#include "ncclbpf_policy.h"

__noinline uint64_t number(struct ncclbpf_tuner *ctx)
{
	return (uint64_t)ctx;
}

SEC("tuner")
int global_function_returns_an_address(struct ncclbpf_tuner *ctx)
{
	ctx->channels = number(ctx) & 7;
	return 0;
}
