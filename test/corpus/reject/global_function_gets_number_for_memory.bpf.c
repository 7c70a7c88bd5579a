// EXPECT: global_function
// SPDX-License-Identifier: MIT
// near: (uint64_t *)ctx->bytes => (uint64_t *)0
// golden
// A number is no memory.
#include "ncclbpf_policy.h"

__noinline int load(const uint64_t *p)
{
	return p ? *p : 0;
}

SEC("tuner")
int global_function_gets_number_for_memory(struct ncclbpf_tuner *ctx)
{
	asm volatile("" ::"r"(load((uint64_t *)ctx->bytes)));
	return 0;
}
