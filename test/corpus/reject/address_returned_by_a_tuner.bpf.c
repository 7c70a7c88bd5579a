// EXPECT: return_pointer
// SPDX-License-Identifier: MIT
// near: r0 = r1 => r0 = 1
// The address of the context differs between ranks.
#include "ncclbpf_policy.h"

SEC("tuner")
__attribute__((naked)) int address_returned_by_a_tuner(struct ncclbpf_tuner *ctx)
{
	asm volatile("r0 = r1\n"
		     "exit\n");
}
