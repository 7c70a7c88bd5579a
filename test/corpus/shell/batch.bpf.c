// SPDX-License-Identifier: MIT
// A large map that changes all the while, a coherent one and variables, for
// test/script/shell_batch.t.
#include "policies/ncclbpf_policy.h"

struct limit {
	__u64 bytes;
	__u32 algo;
	__u32 channels;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 110000);
	__type(key, __u64);
	__type(value, __u64);
} many SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 100);
	__type(key, __u32);
	__type(value, struct limit);
} limits SEC(".maps") __coherent;

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 2);
	__type(key, __u32);
	__type(value, __u32);
} per_cpu SEC(".maps");

SEC("tuner")
int batch(struct ncclbpf_tuner *ctx)
{
	__u64 come = (1ull << 40) + ctx->seq % 4096, go = come ^ 2048, one = 1;
	__u32 coll = ctx->coll;
	struct limit *l = bpf_map_lookup_elem(&limits, &coll);

	bpf_map_update_elem(&many, &come, &one, BPF_ANY);
	bpf_map_delete_elem(&many, &go);
	bpf_map_lookup_elem(&per_cpu, &coll);
	if (l && l->channels && ctx->bytes < l->bytes)
		ctx->channels = l->channels;
	return 0;
}
