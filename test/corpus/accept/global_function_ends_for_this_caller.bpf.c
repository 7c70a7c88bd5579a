// EXPECT: accepted
// SPDX-License-Identifier: MIT
// Twin of global_function_never_ends: any function is walked with what its
// caller knows.
#include "ncclbpf_policy.h"

__noinline int spin(uint64_t x)
{
	while (x != 7)
		asm volatile("%[x] *= 3" : [x] "+r"(x));
	return 0;
}

SEC("tuner")
int global_function_ends_for_this_caller(struct ncclbpf_tuner *ctx)
{
	return spin(7);
}
