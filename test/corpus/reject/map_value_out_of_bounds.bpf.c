// EXPECT: map_bounds
// SPDX-License-Identifier: MIT
// near: coll & 7 => coll & 3
// golden
// The value has 4 numbers, the index goes to 7.
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
int map_value_out_of_bounds(struct ncclbpf_tuner *ctx)
{
	__u32 key = 0, i = ctx->coll & 7;
	struct row *r = bpf_map_lookup_elem(&rows, &key);

	if (r)
		ctx->channels = r->channels[i];
	return 0;
}
