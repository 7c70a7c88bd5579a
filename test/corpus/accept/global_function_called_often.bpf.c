// EXPECT: accepted
// SPDX-License-Identifier: MIT
// Twin of global_function_called_too_often: 40 iterations are few enough.
#include "ncclbpf_policy.h"

__noinline uint32_t slow(uint32_t n)
{
	for (uint32_t i = 0; i < 2000; i++)
		asm volatile("%0 += 1" : "+r"(n));
	return n;
}

SEC("tuner")
int global_function_called_often(struct ncclbpf_tuner *ctx)
{
	uint32_t n = ctx->ranks;

	for (uint32_t i = 0; i < 40; i++)
		n = slow(n);
	ctx->channels = n & 7;
	return 0;
}
