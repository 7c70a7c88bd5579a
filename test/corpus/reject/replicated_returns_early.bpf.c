// EXPECT: local_state
// SPDX-License-Identifier: MIT
// near: return 0; /* early */ => *l = 0;
// A rank that returns early leaves out a store that the others make.
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
int replicated_returns_early(struct ncclbpf_coll_api *ctx)
{
	__u32 key = 0;
	__u64 *n = bpf_map_lookup_elem(&calls, &key), *l = bpf_map_lookup_elem(&mine, &key);

	if (++*l > 100)
		return 0; /* early */
	++*n;
	return 0;
}
