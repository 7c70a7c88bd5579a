// EXPECT: accepted
// SPDX-License-Identifier: MIT
// Twin of output_from_local_map: counting is fine, after the answer.
#include "ncclbpf_policy.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} counter SEC(".maps");

SEC("tuner")
int counting_in_local_map(struct ncclbpf_tuner *ctx)
{
	__u32 key = 0;
	__u64 *n;

	ctx->channels = 1 + (ctx->seq & 7);
	n = bpf_map_lookup_elem(&counter, &key);
	if (n)
		++*n;
	return 0;
}
