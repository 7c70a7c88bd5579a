// EXPECT: accepted
// SPDX-License-Identifier: MIT
// Twin of global_function_leaves_local_memory: it stores a constant.
#include "ncclbpf_policy.h"

__noinline void fill(uint32_t *n)
{
	if (n) {
		bpf_get_prandom_u32();
		*n = 2;
	}
}

SEC("tuner")
int global_function_leaves_coherent_memory(struct ncclbpf_tuner *ctx)
{
	uint32_t n = 0;

	fill(&n);
	ctx->channels = n & 7;
	return 0;
}
