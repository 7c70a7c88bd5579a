// EXPECT: endless_loop
// SPDX-License-Identifier: MIT
// near: while (x != 7) => for (int i = 0; i < 7; i++)
// It has to end on its own, whoever calls it.
#include "ncclbpf_policy.h"

__noinline int spin(uint64_t x)
{
	while (x != 7)
		asm volatile("%[x] *= 3" : [x] "+r"(x));
	return 0;
}

SEC("tuner")
int global_function_never_ends(struct ncclbpf_tuner *ctx)
{
	return spin(7);
}
