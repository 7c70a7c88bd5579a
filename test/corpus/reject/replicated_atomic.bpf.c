// EXPECT: map_replicated
// SPDX-License-Identifier: MIT
// near: __sync_fetch_and_add(n, 1) => *n += 1
// One thread writes the map.
#include "ncclbpf_policy.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 4);
	__type(key, __u32);
	__type(value, __u64);
} calls SEC(".maps") __replicated;

SEC("profiler/coll_api")
int replicated_atomic(struct ncclbpf_coll_api *ctx)
{
	__u32 key = 0;
	__u64 *n = bpf_map_lookup_elem(&calls, &key);

	__sync_fetch_and_add(n, 1);
	return 0;
}
