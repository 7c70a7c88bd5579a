// EXPECT: global_function
// SPDX-License-Identifier: MIT
// near: &x.d.opaque[1] => &x.beside[1]
// It would write into what only helpers may touch.
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
int global_function_gets_a_dynptr(struct ncclbpf_tuner *ctx)
{
	struct {
		uint64_t beside[2];
		struct bpf_dynptr d;
	} x = { .beside = { 1, 2 } };

	bpf_ringbuf_reserve_dynptr(&events, 8, 0, &x.d);
	asm volatile("" ::"r"(use(&x.d.opaque[1])));
	bpf_ringbuf_discard_dynptr(&x.d, 0);
	return 0;
}
