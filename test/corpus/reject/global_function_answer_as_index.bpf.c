// EXPECT: pointer_range
// SPDX-License-Identifier: MIT
// near: five()] => five() & 7]
// Of a global function's answer nothing is known.
#include "ncclbpf_policy.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, uint8_t[64]);
} bytes SEC(".maps");

__noinline uint64_t five(void)
{
	uint64_t x = 5;

	asm volatile("" : "+r"(x));
	return x;
}

SEC("tuner")
int global_function_answer_as_index(struct ncclbpf_tuner *ctx)
{
	uint32_t key = 0;
	uint8_t *v = bpf_map_lookup_elem(&bytes, &key);

	if (v)
		v[five()] = 1;
	return 0;
}
