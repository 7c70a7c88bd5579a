// EXPECT: div_zero
// SPDX-License-Identifier: MIT
// near: r0 /= 0 => r0 /= 1
// golden
// A constant divisor of 0 can only be a mistake.
#include "ncclbpf_policy.h"

SEC("tuner")
__attribute__((naked)) int division_by_constant_zero(struct ncclbpf_tuner *ctx)
{
	asm volatile("r0 = 7\n"
		     "r0 /= 0\n"
		     "exit\n");
}
