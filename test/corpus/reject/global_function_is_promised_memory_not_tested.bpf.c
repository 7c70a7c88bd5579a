// EXPECT: global_function
// SPDX-License-Identifier: MIT
// near: p __arg_nonnull => p
// near: return *p => return p ? *p : 0
// near: & 1 => & 0
// A look-up may find nothing: the promise needs a test first.
#include "ncclbpf_policy.h"

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 8);
	__type(key, uint32_t);
	__type(value, uint64_t);
} seen SEC(".maps");

__noinline int load(const uint64_t *p __arg_nonnull)
{
	return *p;
}

SEC("tuner")
int global_function_is_promised_memory_not_tested(struct ncclbpf_tuner *ctx)
{
	uint32_t key = ctx->ranks;

	return load(bpf_map_lookup_elem(&seen, &key)) & 1;
}
