// SPDX-License-Identifier: MIT
// A map of each type, used once a decision, for test/integration/shell_maps.t.
#include "policies/ncclbpf_policy.h"

struct prefix {
	__u32 bits;
	__u8 data[4];
};

struct inner {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 2);
	__type(key, __u32);
	__type(value, __u64);
} one SEC(".maps"), two SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 3);
	__type(key, __u32);
	__array(values, struct inner);
} maps SEC(".maps") = { .values = { [1] = (void *)&one } };

struct {
	__uint(type, BPF_MAP_TYPE_QUEUE);
	__uint(max_entries, 3);
	__type(value, __u64);
} queue SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_BLOOM_FILTER);
	__uint(max_entries, 10);
	__type(value, __u64);
} seen SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(max_entries, 4);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct prefix);
	__type(value, __u64);
} routes SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(max_entries, 4);
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
	struct prefix p = { 16, { 10, 1 } };
	__u64 n = counter, zero = 0, size = ctx->bytes, *v;
	__u32 coll = 7, slot = 1;
	void *inner;

	counter = 5;
	n = 41;
	bpf_map_push_elem(&queue, &n, BPF_EXIST);
	bpf_map_push_elem(&seen, &n, BPF_ANY);
	bpf_map_update_elem(&routes, &p, &n, BPF_ANY);
	bpf_map_update_elem(&sizes, &size, &n, BPF_ANY);
	if (!bpf_map_lookup_elem(&by_coll, &coll))
		bpf_map_update_elem(&by_coll, &coll, &zero, BPF_NOEXIST);
	inner = bpf_map_lookup_elem(&maps, &slot);
	if (inner && (v = bpf_map_lookup_elem(inner, &slot)))
		*v = 99;
	bpf_ringbuf_output(&ring, &n, sizeof(n), 0);
	return 0;
}
