// EXPECT: run_length
// SPDX-License-Identifier: MIT
// near: pass(); => ;
// What follows a function that counts passes may be the rest of an iteration of
// its.
#include "ncclbpf_policy.h"

/* may_goto +0: a pass of the budget, or none is left. */
__attribute__((naked)) __noinline int pass(void)
{
	asm volatile("r0 = 0\n"
		     ".8byte 0x00000000000000e5\n"
		     "exit\n");
}

__noinline uint32_t slow(uint32_t n)
{
	for (uint32_t i = 0; i < 2000; i++)
		asm volatile("%0 += 1" : "+r"(n));
	return n;
}

SEC("tuner")
int global_function_counts_before_long_work(struct ncclbpf_tuner *ctx)
{
	uint32_t n = ctx->ranks, sum = 0;
	int i;

	pass();
	for (uint32_t k = 0; k < 30; k++)
		n = slow(n);
	ncclbpf_for(i, 0, ctx->ranks & 255) sum++;
	ctx->channels = (n + sum) & 7;
	return 0;
}
