// SPDX-License-Identifier: MIT
// A policy that follows a pointer it has not tested: what the shell shows of
// a refusal.
#include "ncclbpf_policy.h"

struct limit {
	__u64 bytes;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16);
	__type(key, __u32);
	__type(value, struct limit);
} limits SEC(".maps") __coherent;

SEC("tuner")
int refused(struct ncclbpf_tuner *ctx)
{
	__u32 key = ctx->coll;
	struct limit *l = bpf_map_lookup_elem(&limits, &key);

	if (ctx->bytes > l->bytes)
		ctx->algo = NCCL_ALGO_RING;
	return 0;
}
