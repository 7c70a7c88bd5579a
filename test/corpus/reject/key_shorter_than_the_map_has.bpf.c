// EXPECT: stack_bounds
// SPDX-License-Identifier: MIT
// near: __u32 k = => __u64 k =
// golden
// A key of 4 bytes for a map whose keys have 8.
#include "ncclbpf_policy.h"

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4);
	__type(key, __u64);
	__type(value, __u32);
} lim SEC(".maps");

SEC("tuner")
int key_shorter_than_the_map_has(struct ncclbpf_tuner *ctx)
{
	__u32 k = ctx->ranks;

	bpf_map_lookup_elem(&lim, &k);
	return 0;
}
