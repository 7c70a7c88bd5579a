// EXPECT: accepted
// SPDX-License-Identifier: MIT
// Twin of iterator_beside_long_iterations: a quarter of the numbers.
#include "ncclbpf_policy.h"

__noinline uint32_t slow(uint32_t n)
{
	for (uint32_t i = 0; i < 2000; i++)
		asm volatile("%0 += 1" : "+r"(n));
	return n;
}

static int iteration(uint32_t i, uint32_t *n)
{
	*n = slow(*n);
	return 0;
}

SEC("tuner")
int iterator_beside_fewer_long_iterations(struct ncclbpf_tuner *ctx)
{
	uint32_t n = ctx->ranks, sum = 0;
	int i;

	ncclbpf_for(i, 0, ctx->ranks & 1023) sum++;
	bpf_loop(10, iteration, &n, 0);
	ctx->channels = (n + sum) & 7;
	return 0;
}
