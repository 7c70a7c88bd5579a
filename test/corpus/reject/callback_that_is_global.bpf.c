// EXPECT: callback
// SPDX-License-Identifier: MIT
// near: __noinline int => static int
// A global function is verified by its signature, not where it is called.
#include "ncclbpf_policy.h"

__noinline int iteration(uint64_t i, void *unused)
{
	return i > 2;
}

SEC("tuner")
int callback_that_is_global(struct ncclbpf_tuner *ctx)
{
	bpf_loop(4, iteration, (void *)0, 0);
	return 0;
}
