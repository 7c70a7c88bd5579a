// EXPECT: global_function
// SPDX-License-Identifier: MIT
// near: __noinline int => static __noinline int
// Behind such an argument nothing is known.
#include "ncclbpf_policy.h"

__noinline int use(void *x)
{
	int n = 3;

	asm volatile("" : "+r"(n));
	return n;
}

SEC("tuner")
int global_function_with_untyped_pointer(struct ncclbpf_tuner *ctx)
{
	uint64_t x = ctx->bytes;

	asm volatile("" ::"r"(use(&x)));
	return 0;
}
