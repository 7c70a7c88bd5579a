// EXPECT: accepted
// SPDX-License-Identifier: MIT
// Twin of global_function_gets_a_dynptr.
#include "ncclbpf_policy.h"

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} events SEC(".maps");

__noinline int use(uint64_t *p)
{
	return p ? *p & 1 : 0;
}

SEC("tuner")
int global_function_gets_what_is_beside_a_dynptr(struct ncclbpf_tuner *ctx)
{
	struct {
		uint64_t beside[2];
		struct bpf_dynptr d;
	} x = { .beside = { 1, 2 } };

	bpf_ringbuf_reserve_dynptr(&events, 8, 0, &x.d);
	asm volatile("" ::"r"(use(&x.beside[1])));
	bpf_ringbuf_discard_dynptr(&x.d, 0);
	return 0;
}
