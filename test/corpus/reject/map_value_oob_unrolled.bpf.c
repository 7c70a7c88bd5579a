// EXPECT: map_bounds
// SPDX-License-Identifier: MIT
// near: i <= 4 => i < 4
// golden
// A loop one pass too long, which the compiler has unrolled: the offset is a
// constant, and the message speaks of the index all the same.
#include "ncclbpf_policy.h"

struct row {
	__u32 pad;
	__u32 algo[4];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 4);
	__type(key, __u32);
	__type(value, struct row);
} rows SEC(".maps") __coherent;

SEC("tuner")
int map_value_oob_unrolled(struct ncclbpf_tuner *ctx)
{
	__u32 key = 0;
	struct row *r = bpf_map_lookup_elem(&rows, &key);

	if (!r)
		return 0;
	for (__u32 i = 0; i <= 4; i++)
		if (r->algo[i] == 3)
			ctx->algo = (int)i;
	return 0;
}
