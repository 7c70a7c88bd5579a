// EXPECT: map_replicated
// SPDX-License-Identifier: MIT
// near: ++*n => ctx->channels = *n & 7
// golden
// NCCL may ask the tuners of some ranks only.
#include "ncclbpf_policy.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 4);
	__type(key, __u32);
	__type(value, __u64);
} calls SEC(".maps") __replicated;

SEC("tuner")
int replicated_written_by_tuner(struct ncclbpf_tuner *ctx)
{
	__u32 key = 0;
	__u64 *n = bpf_map_lookup_elem(&calls, &key);

	++*n;
	return 0;
}
