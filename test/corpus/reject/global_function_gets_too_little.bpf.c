// EXPECT: stack_bounds
// SPDX-License-Identifier: MIT
// near: uint64_t one = ctx->bytes => struct pair one = { 1, 2 }
// The caller has 8 bytes where the signature wants 16.
#include "ncclbpf_policy.h"

struct pair {
	uint64_t a, b;
};

__noinline int sum(const struct pair *p)
{
	return p ? p->a + p->b : 0;
}

SEC("tuner")
int global_function_gets_too_little(struct ncclbpf_tuner *ctx)
{
	uint64_t one = ctx->bytes;

	asm volatile("" : "+m"(one));
	asm volatile("" ::"r"(sum((struct pair *)&one)));
	return 0;
}
