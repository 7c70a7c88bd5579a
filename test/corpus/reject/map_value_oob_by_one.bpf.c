// EXPECT: map_bounds
// SPDX-License-Identifier: MIT
// near: sizeof(*r) => sizeof(*r) - 1
// golden
// The first byte after a value.
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
int map_value_oob_by_one(struct ncclbpf_tuner *ctx)
{
	__u32 key = 0;
	struct row *r = bpf_map_lookup_elem(&rows, &key);

	if (r)
		ctx->channels = *(volatile __u8 *)((char *)r + sizeof(*r));
	return 0;
}
