// EXPECT: global_function
// SPDX-License-Identifier: MIT
// golden
// near: __noinline void => static __noinline void
// What it returns would be trusted by nobody.
#include "ncclbpf_policy.h"

__noinline void *same(struct ncclbpf_tuner *ctx)
{
	asm volatile("" : "+r"(ctx));
	return ctx;
}

SEC("tuner")
int global_function_returns_pointer(struct ncclbpf_tuner *ctx)
{
	ctx = same(ctx);
	ctx->channels = 1;
	return 0;
}
