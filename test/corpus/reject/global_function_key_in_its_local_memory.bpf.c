// EXPECT: local_output
// SPDX-License-Identifier: MIT
// near: bpf_get_prandom_u32() => ctx->coll
// The key is local, so is what is found.
#include "ncclbpf_policy.h"

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 8);
	__type(key, uint32_t);
	__type(value, uint32_t);
} limits SEC(".maps") __coherent;

__noinline int mix(struct ncclbpf_tuner *ctx, uint32_t *p)
{
	uint32_t *v;

	if (!p)
		return 0;
	*p = bpf_get_prandom_u32();
	asm volatile("" ::: "memory");
	v = bpf_map_lookup_elem(&limits, p);
	if (v)
		ctx->channels = *v & 7;
	return 0;
}

SEC("tuner")
int global_function_key_in_its_local_memory(struct ncclbpf_tuner *ctx)
{
	uint32_t n = 0;

	asm volatile("" ::"r"(mix(ctx, &n)));
	return 0;
}
