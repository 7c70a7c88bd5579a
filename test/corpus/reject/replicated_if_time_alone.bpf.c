// EXPECT: local_state
// SPDX-License-Identifier: MIT
// near: bpf_ktime_get_ns() & 1 => ctx->seq & 1
// golden
// The value is equal on all ranks, but only some of them store it.
#include "ncclbpf_policy.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 4);
	__type(key, __u32);
	__type(value, __u64);
} calls SEC(".maps") __replicated;

SEC("profiler/coll_api")
int replicated_if_time_alone(struct ncclbpf_coll_api *ctx)
{
	__u32 key = 0;
	__u64 *n = bpf_map_lookup_elem(&calls, &key), v = ctx->bytes;

	asm volatile("" : "+r"(v)); /* it is loaded before the branch */
	if (bpf_ktime_get_ns() & 1)
		*n = v;
	return 0;
}
