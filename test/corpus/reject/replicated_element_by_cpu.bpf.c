// EXPECT: local_state
// SPDX-License-Identifier: MIT
// near: bpf_get_smp_processor_id() => ctx->coll
// Ranks run on different CPUs, so they would count in different elements.
#include "ncclbpf_policy.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 4);
	__type(key, __u32);
	__type(value, __u64);
} calls SEC(".maps") __replicated;

SEC("profiler/coll_api")
int replicated_element_by_cpu(struct ncclbpf_coll_api *ctx)
{
	__u32 key = bpf_get_smp_processor_id() & 3;
	__u64 *n = bpf_map_lookup_elem(&calls, &key);

	++*n;
	return 0;
}
