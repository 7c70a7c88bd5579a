// SPDX-License-Identifier: MIT
// A map of each type, used once a decision, for test/integration/shell_maps.t.
#include "policies/ncclbpf_policy.h"

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 8);
	__type(key, __u32);
	__type(value, __u64);
} by_coll SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4);
	__type(key, __u64);
	__type(value, __u64);
} sizes SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} ring SEC(".maps");

__u64 counter;

SEC("tuner")
int count(struct ncclbpf_tuner *ctx)
{
	__u64 n = counter, size = ctx->bytes, *v;
	__u32 coll = 7;

	counter = 5;
	n = 41;
	bpf_map_update_elem(&sizes, &size, &n, BPF_ANY);
	v = bpf_map_lookup_elem(&by_coll, &coll);
	if (v)
		*v = 0;
	bpf_ringbuf_output(&ring, &n, sizeof(n), 0);
	return 0;
}
