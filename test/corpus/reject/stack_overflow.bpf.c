// EXPECT: stack_bounds
// SPDX-License-Identifier: MIT
// near: 520 => 512
// golden
// A frame has 512 bytes; this store begins 520 below its top.
#include "ncclbpf_policy.h"

SEC("tuner")
int stack_overflow(struct ncclbpf_tuner *ctx)
{
	__u64 x = ctx->bytes;

	asm volatile("*(u64 *)(r10 - 520) = %[x]" : : [x] "r"(x) : "memory");
	return 0;
}
