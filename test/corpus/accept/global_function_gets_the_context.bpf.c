// EXPECT: accepted
// SPDX-License-Identifier: MIT
// Twin of global_function_gets_moved_context.
#include "ncclbpf_policy.h"

__noinline int use(struct ncclbpf_tuner *x)
{
	return x->ranks;
}

SEC("tuner")
int global_function_gets_the_context(struct ncclbpf_tuner *ctx)
{
	asm volatile("" ::"r"(use(ctx)));
	return 0;
}
