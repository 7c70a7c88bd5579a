// EXPECT: accepted
// SPDX-License-Identifier: MIT
// Twin of stack_overflow: the last 8 bytes of the frame.
#include "ncclbpf_policy.h"

SEC("tuner")
int stack_to_its_end(struct ncclbpf_tuner *ctx)
{
	__u64 x = ctx->bytes;

	asm volatile("*(u64 *)(r10 - 512) = %[x]" : : [x] "r"(x) : "memory");
	return 0;
}
