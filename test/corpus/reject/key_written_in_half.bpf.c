// EXPECT: stack_uninit
// SPDX-License-Identifier: MIT
// near: __u32 k[2]; => __u32 k[2] = {};
// golden
// Only 4 of the key's 8 bytes are written.
#include "ncclbpf_policy.h"

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4);
	__type(key, __u64);
	__type(value, __u32);
} lim SEC(".maps");

SEC("tuner")
int key_written_in_half(struct ncclbpf_tuner *ctx)
{
	__u32 k[2];

	k[0] = ctx->ranks;
	bpf_map_lookup_elem(&lim, &k[0]);
	return 0;
}
