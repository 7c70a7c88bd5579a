// EXPECT: map_replicated
// SPDX-License-Identifier: MIT
// near: (__u64)n => 7
// Addresses differ between processes.
#include "ncclbpf_policy.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 4);
	__type(key, __u32);
	__type(value, __u64);
} calls SEC(".maps") __replicated;

SEC("profiler/coll_api")
int replicated_address(struct ncclbpf_coll_api *ctx)
{
	__u32 key = 0;
	__u64 *n = bpf_map_lookup_elem(&calls, &key);

	*(volatile __u64 *)n = (__u64)n;
	return 0;
}
