// EXPECT: accepted
// SPDX-License-Identifier: MIT
// A controller puts in and takes out by the key.
#include "ncclbpf_policy.h"

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4);
	__type(key, __u32);
	__type(value, __u64);
} limits SEC(".maps") __coherent;

SEC("controller")
int controller_changes_coherent_map(struct ncclbpf_controller *ctx)
{
	__u32 key = 0;
	__u64 value = ctx->ranks;

	bpf_map_update_elem(&limits, &key, &value, BPF_ANY);
	key = 1;
	bpf_map_delete_elem(&limits, &key);
	return 0;
}
