// EXPECT: nullable
// SPDX-License-Identifier: MIT
// near: PERCPU_ARRAY => ARRAY
// A map of maps may hold per-CPU arrays with fewer elements than its inner
// definition, but no such arrays of another type.
#include "ncclbpf_policy.h"

struct inner {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 2);
	__type(key, uint32_t);
	__type(value, uint64_t);
} one SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 3);
	__type(key, uint32_t);
	__array(values, struct inner);
} maps SEC(".maps") = { .values = { [1] = (void *)&one } };

SEC("tuner")
int inner_percpu_array_not_tested(struct ncclbpf_tuner *ctx)
{
	uint32_t key = 1;
	void *in = bpf_map_lookup_elem(&maps, &key);
	uint64_t *v;

	if (!in)
		return 0;
	v = bpf_map_lookup_elem(in, &key);
	*v += 1;
	return 0;
}
