// EXPECT: local_output
// SPDX-License-Identifier: MIT
// near: bpf_get_prandom_u32() => 4
// It stores local data where the caller reads an answer.
#include "ncclbpf_policy.h"

__noinline void fill(uint32_t *n)
{
	if (n)
		*n = bpf_get_prandom_u32();
}

SEC("tuner")
int global_function_leaves_local_memory(struct ncclbpf_tuner *ctx)
{
	uint32_t n = 0;

	fill(&n);
	ctx->channels = n & 7;
	return 0;
}
