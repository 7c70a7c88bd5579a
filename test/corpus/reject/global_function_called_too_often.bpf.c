// EXPECT: run_length
// SPDX-License-Identifier: MIT
// near: i < 400 => i < 40
// golden
// Judged once, but called in each of 400 iterations: 1.6 million instructions.
#include "ncclbpf_policy.h"

__noinline uint32_t slow(uint32_t n)
{
	for (uint32_t i = 0; i < 2000; i++)
		asm volatile("%0 += 1" : "+r"(n));
	return n;
}

SEC("tuner")
int global_function_called_too_often(struct ncclbpf_tuner *ctx)
{
	uint32_t n = ctx->ranks;

	for (uint32_t i = 0; i < 400; i++)
		n = slow(n);
	ctx->channels = n & 7;
	return 0;
}
