// EXPECT: run_length
// SPDX-License-Identifier: MIT
// near: 1 << 20 => 1 << 10
// All buckets are visited, however few elements there are.
#include "ncclbpf_policy.h"

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1 << 20);
	__type(key, uint64_t);
	__type(value, uint64_t);
} seen SEC(".maps");

static int each(void *map, const uint64_t *key, uint64_t *value, void *ctx)
{
	return 0;
}

SEC("tuner")
int buckets_of_a_large_hash(struct ncclbpf_tuner *ctx)
{
	bpf_for_each_map_elem(&seen, each, NULL, 0);
	return 0;
}
