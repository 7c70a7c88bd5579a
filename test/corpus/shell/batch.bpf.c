// SPDX-License-Identifier: MIT
// A large map that changes all the while, a coherent one, a ring buffer and
// variables, for test/integration/shell_batch.t and shell_pop.t.
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

struct ring_record {
	__u64 seq;
	__u32 coll;
	__u32 ranks;
};

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} ring SEC(".maps");

__u64 decisions;
struct limit saved[3];
struct ring_record last;
__u32 paused = 0;

SEC("tuner")
int batch(struct ncclbpf_tuner *ctx)
{
	__u64 come = (1ull << 40) + ctx->seq % 4096, go = come ^ 2048, one = 1;
	__u32 coll = ctx->coll;
	struct ring_record now = { ctx->seq, ctx->coll, ctx->ranks };
	struct limit *l = bpf_map_lookup_elem(&limits, &coll);

	decisions++;
	last = now;
	saved[1].channels = 7;
	if (!paused)
		bpf_ringbuf_output(&ring, &now, sizeof(now), 0);
	bpf_map_update_elem(&many, &come, &one, BPF_ANY);
	bpf_map_delete_elem(&many, &go);
	bpf_map_lookup_elem(&per_cpu, &coll);
	if (l && l->channels && ctx->bytes < l->bytes)
		ctx->channels = l->channels;
	return 0;
}
