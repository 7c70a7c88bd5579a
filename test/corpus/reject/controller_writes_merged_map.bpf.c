// EXPECT: map_read_only
// SPDX-License-Identifier: MIT
// near: *n = ctx->ranks => return *n & 1
// What a controller sees of a merged map belongs to all processes.
#include "ncclbpf_policy.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 4);
	__type(key, __u32);
	__type(value, __u64);
} seen SEC(".maps") __merged(sum);

SEC("controller")
int controller_writes_merged_map(struct ncclbpf_controller *ctx)
{
	__u32 key = 0;
	__u64 *n = bpf_map_lookup_elem(&seen, &key);

	if (n)
		*n = ctx->ranks;
	return 0;
}
