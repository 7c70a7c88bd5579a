// EXPECT: nullable
// SPDX-License-Identifier: MIT
// near: ctx->channels = r => if (r) ctx->channels = r
// golden
// The look-up may answer NULL; nobody asks.
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
int null_dereference(struct ncclbpf_tuner *ctx)
{
	__u32 key = ctx->coll;
	struct row *r = bpf_map_lookup_elem(&rows, &key);

	ctx->channels = r->channels[0];
	return 0;
}
