// EXPECT: accepted
// SPDX-License-Identifier: MIT
// The host's signals are observed by a tuner program and decide in a
// controller, through a coherent map.
#include "ncclbpf_policy.h"

struct signals {
	__u64 written_ns;
	__u64 retransmits;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 4);
	__uint(map_flags, BPF_F_MMAPABLE | BPF_F_RDONLY_PROG);
	__type(key, __u32);
	__type(value, struct signals);
} host SEC(".maps") __host;

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} limits SEC(".maps") __coherent;

__u64 seen;

SEC("tuner")
int host_map_read(struct ncclbpf_tuner *ctx)
{
	__u32 key = 0;
	__u64 *limit = bpf_map_lookup_elem(&limits, &key);
	struct signals *s;

	if (limit && *limit)
		ctx->channels = *limit;
	s = bpf_map_lookup_elem(&host, &key);
	if (s)
		seen = s->retransmits;
	return 0;
}

SEC("controller")
int host_map_decides(struct ncclbpf_controller *ctx)
{
	__u32 key = 0;
	struct signals *s = bpf_map_lookup_elem(&host, &key);
	__u64 channels = 8;

	if (s && ncclbpf_host_age(s) < 1000000000 && s->retransmits > 100)
		channels = 2;
	return bpf_map_update_elem(&limits, &key, &channels, BPF_ANY);
}
