// EXPECT: read_only
// SPDX-License-Identifier: MIT
// near: advance(at) => advance(&copy)
// A global function may write the memory that it gets. Programs may only read
// the iterator's number.
#include "ncclbpf_policy.h"

__noinline int advance(int *at)
{
	if (at)
		*at += 4;
	return 0;
}

SEC("tuner")
int global_function_gets_read_only_memory(struct ncclbpf_tuner *ctx)
{
	struct bpf_iter_num it;
	int *at, copy;

	bpf_iter_num_new(&it, 0, 8);
	while ((at = bpf_iter_num_next(&it))) {
		copy = *at;
		asm volatile("" : "+m"(copy));
		asm volatile("" ::"r"(advance(at)));
	}
	bpf_iter_num_destroy(&it);
	return 0;
}
