// EXPECT: global_function
// SPDX-License-Identifier: MIT
// near: (struct ncclbpf_tuner *)x => ctx
// Memory of the program is no context.
#include "ncclbpf_policy.h"

__noinline int use(struct ncclbpf_tuner *x)
{
	return x->ranks;
}

SEC("tuner")
int global_function_gets_stack_for_context(struct ncclbpf_tuner *ctx)
{
	uint64_t x[10] = { 0 };

	asm volatile("" : "+m"(x));
	asm volatile("" ::"r"(use((struct ncclbpf_tuner *)x)));
	return 0;
}
