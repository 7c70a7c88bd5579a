// EXPECT: accepted
// SPDX-License-Identifier: MIT
// A global function without an answer: what its r0 is at the exit is nobody's
// concern, as with the kernel.
#include "ncclbpf_policy.h"

__noinline void note(struct ncclbpf_tuner *ctx)
{
	__asm__ volatile("r0 = %0" : : "r"(ctx) : "r0");
}

SEC("tuner")
int decide(struct ncclbpf_tuner *ctx)
{
	note(ctx);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
