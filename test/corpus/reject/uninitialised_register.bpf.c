// EXPECT: uninit
// SPDX-License-Identifier: MIT
// near: r0 = r6 => r0 = 6
// golden
// r6 holds nothing when a program begins.
#include "ncclbpf_policy.h"

SEC("tuner")
__attribute__((naked)) int uninitialised_register(struct ncclbpf_tuner *ctx)
{
	asm volatile("r0 = r6\n"
		     "exit\n");
}
