// EXPECT: accepted
// SPDX-License-Identifier: MIT
// The instruction set defines it: x / 0 is 0 and x % 0 is x.
#include "ncclbpf_policy.h"

SEC("tuner")
__attribute__((naked)) int division_by_constant_zero(struct ncclbpf_tuner *ctx)
{
	asm volatile("r0 = 7\n"
		     "r0 /= 0\n"
		     "exit\n");
}
