// EXPECT: accepted
// SPDX-License-Identifier: MIT
// Twin of inner_map_not_tested.
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
int inner_map_tested(struct ncclbpf_tuner *ctx)
{
	uint32_t key = 1;
	void *in = bpf_map_lookup_elem(&maps, &key);
	uint64_t *v = in ? bpf_map_lookup_elem(in, &key) : NULL;

	if (v)
		*v += 1;
	return 0;
}
