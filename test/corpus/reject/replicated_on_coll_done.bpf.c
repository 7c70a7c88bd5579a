// EXPECT: map_replicated
// SPDX-License-Identifier: MIT
// near: .maps") __replicated => .maps")
// golden
// Collectives end at different moments on each rank.
#include "ncclbpf_policy.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 4);
	__type(key, __u32);
	__type(value, __u64);
} calls SEC(".maps") __replicated;

SEC("profiler/coll_done")
int replicated_on_coll_done(struct ncclbpf_coll_done *ctx)
{
	__u32 key = 0;
	__u64 *n = bpf_map_lookup_elem(&calls, &key);

	return *n != 0;
}
