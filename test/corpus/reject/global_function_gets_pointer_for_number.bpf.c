// EXPECT: global_function
// SPDX-License-Identifier: MIT
// near: (uint64_t)ctx => ctx->bytes
// An address is no number.
#include "ncclbpf_policy.h"

__noinline int use(uint64_t x)
{
	asm volatile("" : "+r"(x));
	return x & 1;
}

SEC("tuner")
int global_function_gets_pointer_for_number(struct ncclbpf_tuner *ctx)
{
	asm volatile("" ::"r"(use((uint64_t)ctx)));
	return 0;
}
