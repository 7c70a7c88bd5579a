// EXPECT: accepted
// SPDX-License-Identifier: MIT
// Twin of global_function_with_untyped_pointer.
#include "ncclbpf_policy.h"

static __noinline int use(void *x)
{
	int n = 3;

	asm volatile("" : "+r"(n));
	return n;
}

SEC("tuner")
int static_function_with_untyped_pointer(struct ncclbpf_tuner *ctx)
{
	uint64_t x = ctx->bytes;

	asm volatile("" ::"r"(use(&x)));
	return 0;
}
