// EXPECT: local_state
// SPDX-License-Identifier: MIT
// near: *n += *l => *n += key
// golden
// Each rank counts for itself; what all ranks share must not come from that.
#include "ncclbpf_policy.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 4);
	__type(key, __u32);
	__type(value, __u64);
} calls SEC(".maps") __replicated;

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} mine SEC(".maps");

SEC("profiler/coll_api")
int replicated_from_local_map(struct ncclbpf_coll_api *ctx)
{
	__u32 key = 0;
	__u64 *n = bpf_map_lookup_elem(&calls, &key), *l = bpf_map_lookup_elem(&mine, &key);

	++*l;
	*n += *l;
	return 0;
}
