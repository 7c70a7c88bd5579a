// EXPECT: map_coherent
// SPDX-License-Identifier: MIT
// near: .maps") __coherent => .maps")
// What a run leaves in a coherent map becomes a generation; which map is
// behind a map of maps is not known, so that one stays as it is.
#include "ncclbpf_policy.h"

struct inner {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 4);
	__type(key, __u32);
	__type(value, __u64);
} a SEC(".maps") __coherent;

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, __u32);
	__array(values, struct inner);
} outer SEC(".maps") __coherent = { .values = { (void *)&a } };

SEC("controller")
int controller_updates_inner_map(struct ncclbpf_controller *ctx)
{
	__u32 key = 0;
	__u64 value = ctx->ranks;
	void *in = bpf_map_lookup_elem(&outer, &key);

	if (in)
		bpf_map_update_elem(in, &key, &value, BPF_ANY);
	return 0;
}
