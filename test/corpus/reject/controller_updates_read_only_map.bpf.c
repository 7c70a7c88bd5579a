// EXPECT: map_coherent
// SPDX-License-Identifier: MIT
// near: BPF_F_RDONLY_PROG => 0
// A controller changes coherent maps, but none that is only to be read.
#include "ncclbpf_policy.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 4);
	__uint(map_flags, BPF_F_RDONLY_PROG);
	__type(key, __u32);
	__type(value, __u64);
} limits SEC(".maps") __coherent;

SEC("controller")
int controller_updates_read_only_map(struct ncclbpf_controller *ctx)
{
	__u32 key = 0;
	__u64 value = ctx->ranks;

	bpf_map_update_elem(&limits, &key, &value, BPF_ANY);
	return 0;
}
