// EXPECT: map_read_only
// SPDX-License-Identifier: MIT
// near: s[1] = 0 => seen = s[1]
// Only the host writes a host map.
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
int host_map_written(struct ncclbpf_tuner *ctx)
{
	__u32 key = 0;
	__u64 *s = bpf_map_lookup_elem(&host, &key);

	if (s)
		s[1] = 0;
	return 0;
}
