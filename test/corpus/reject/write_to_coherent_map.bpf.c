// EXPECT: map_coherent
// SPDX-License-Identifier: MIT
// near: .maps") __coherent => .maps")
// golden
// Coherent maps change at a fence, on all ranks at once; never here.
#include "ncclbpf_policy.h"

struct row {
	__u32 channels[4];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 4);
	__type(key, __u32);
	__type(value, struct row);
} rows SEC(".maps") __coherent;

SEC("tuner")
int write_to_coherent_map(struct ncclbpf_tuner *ctx)
{
	__u32 key = 0;
	struct row *r = bpf_map_lookup_elem(&rows, &key);

	if (r)
		r->channels[0] = 4;
	return 0;
}
