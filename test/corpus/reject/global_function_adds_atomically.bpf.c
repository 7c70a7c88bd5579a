// EXPECT: atomic_align
// SPDX-License-Identifier: MIT
// near: __sync_fetch_and_add(p, 1) => *p += 1
// Any caller may pass memory at any address.
#include "ncclbpf_policy.h"

__noinline int add(uint64_t *p)
{
	if (!p)
		return 0;
	__sync_fetch_and_add(p, 1);
	return 1;
}

SEC("tuner")
int global_function_adds_atomically(struct ncclbpf_tuner *ctx)
{
	uint64_t n = 0;

	asm volatile("" ::"r"(add(&n)));
	return 0;
}
