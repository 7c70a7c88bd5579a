// EXPECT: map_read_only
// SPDX-License-Identifier: MIT
// near: .maps") __merged(max) => .maps")
// What a controller sees of a merged map is a copy: nothing is put in there.
#include "ncclbpf_policy.h"

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4);
	__type(key, __u32);
	__type(value, __u64);
} seen SEC(".maps") __merged(max);

SEC("controller")
int controller_updates_merged_map(struct ncclbpf_controller *ctx)
{
	__u32 key = 0;
	__u64 value = ctx->ranks;

	bpf_map_update_elem(&seen, &key, &value, BPF_ANY);
	return 0;
}
