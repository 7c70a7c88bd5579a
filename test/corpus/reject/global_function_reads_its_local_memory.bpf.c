// EXPECT: local_output
// SPDX-License-Identifier: MIT
// near: bpf_get_prandom_u32() => ctx->coll
// What it stored there is local when it reads it again.
#include "ncclbpf_policy.h"

__noinline int mix(struct ncclbpf_tuner *ctx, uint32_t *p)
{
	if (!p)
		return 0;
	*p = bpf_get_prandom_u32();
	asm volatile("" ::: "memory");
	ctx->channels = *p & 7;
	return 0;
}

SEC("tuner")
int global_function_reads_its_local_memory(struct ncclbpf_tuner *ctx)
{
	uint32_t n = 0;

	asm volatile("" ::"r"(mix(ctx, &n)));
	return 0;
}
