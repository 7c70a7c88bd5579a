// EXPECT: endless_loop
// SPDX-License-Identifier: MIT
// near: spin(ctx->bytes) => spin(7)
// It does not end for each number that this caller may pass.
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
	return spin(ctx->bytes);
}
