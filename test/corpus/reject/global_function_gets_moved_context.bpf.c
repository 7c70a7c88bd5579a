// EXPECT: global_function
// SPDX-License-Identifier: MIT
// near: ctx + 8 => ctx + 0
// The context is passed as it was got.
#include "ncclbpf_policy.h"

__noinline int use(struct ncclbpf_tuner *x)
{
	return x->ranks;
}

SEC("tuner")
int global_function_gets_moved_context(struct ncclbpf_tuner *ctx)
{
	struct ncclbpf_tuner *x = (void *)((char *)ctx + 8);

	asm volatile("" : "+r"(x));
	asm volatile("" ::"r"(use(x)));
	return 0;
}
