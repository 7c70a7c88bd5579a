// EXPECT: local_output
// SPDX-License-Identifier: MIT
// near: ctx->channels = 2 => seen = 2
// golden
// Hosts differ: what one of them measures may not decide on it alone.
#include "ncclbpf_policy.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_MMAPABLE | BPF_F_RDONLY_PROG);
	__type(key, __u32);
	__type(value, __u64[2]);
} host SEC(".maps") __host;

__u64 seen;

SEC("tuner")
int host_map_decides_in_a_tuner(struct ncclbpf_tuner *ctx)
{
	__u32 key = 0;
	__u64 *s = bpf_map_lookup_elem(&host, &key);

	if (s && s[1] > 100)
		ctx->channels = 2;
	return 0;
}
