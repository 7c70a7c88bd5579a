// EXPECT: map_coherent
// SPDX-License-Identifier: MIT
// near: .maps") __coherent => .maps")
// Elements of coherent maps are changed by their keys; a filter has none.
#include "ncclbpf_policy.h"

struct {
	__uint(type, BPF_MAP_TYPE_BLOOM_FILTER);
	__uint(max_entries, 4);
	__type(value, __u64);
} known SEC(".maps") __coherent;

SEC("controller")
int controller_adds_to_coherent_filter(struct ncclbpf_controller *ctx)
{
	__u64 value = ctx->ranks;

	bpf_map_push_elem(&known, &value, BPF_ANY);
	return 0;
}
