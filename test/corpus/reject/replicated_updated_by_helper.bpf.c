// EXPECT: map_replicated
// SPDX-License-Identifier: MIT
// near: bpf_map_update_elem(&calls, &key, &one, BPF_ANY) => key++
// The helper may fail on one rank alone.
#include "ncclbpf_policy.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 4);
	__type(key, __u32);
	__type(value, __u64);
} calls SEC(".maps") __replicated;

SEC("profiler/coll_api")
int replicated_updated_by_helper(struct ncclbpf_coll_api *ctx)
{
	__u32 key = 0;
	__u64 one = 1;

	bpf_map_update_elem(&calls, &key, &one, BPF_ANY);
	return 0;
}
