// EXPECT: arg_null
// SPDX-License-Identifier: MIT
// near: v = bpf_map => v = !in ? in : bpf_map
// A map found in a map may be missing.
#include "ncclbpf_policy.h"

struct inner {
	__uint(type, BPF_MAP_TYPE_ARRAY);
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
int inner_map_not_tested(struct ncclbpf_tuner *ctx)
{
	uint32_t key = 1;
	void *in = bpf_map_lookup_elem(&maps, &key);
	uint64_t *v = bpf_map_lookup_elem(in, &key);

	if (v)
		*v += 1;
	return 0;
}
