// EXPECT: accepted
// SPDX-License-Identifier: MIT
// The number of AllGathers since the last AllReduce decides.
#include "ncclbpf_policy.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 2);
	__type(key, __u32);
	__type(value, __u64);
} since SEC(".maps") __replicated;

SEC("profiler/coll_api")
int replicated_count_calls(struct ncclbpf_coll_api *ctx)
{
	__u32 all = 0, last = 1;
	__u64 *n = bpf_map_lookup_elem(&since, &all), *bytes = bpf_map_lookup_elem(&since, &last);

	*n = ctx->coll == NCCL_COLL_ALL_REDUCE ? 0 : *n + 1;
	*bytes = *bytes * 5 + ctx->bytes;
	return 0;
}

SEC("tuner")
int replicated_count(struct ncclbpf_tuner *ctx)
{
	__u32 all = 0, last = 1;
	__u64 *n = bpf_map_lookup_elem(&since, &all), *bytes = bpf_map_lookup_elem(&since, &last);

	ctx->channels = 1 + ((*n ^ *bytes >> 10) & 15);
	return 0;
}
