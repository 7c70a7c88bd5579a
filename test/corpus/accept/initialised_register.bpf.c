// EXPECT: accepted
// SPDX-License-Identifier: MIT
// Twin of uninitialised_register.
#include "ncclbpf_policy.h"

SEC("tuner")
__attribute__((naked)) int initialised_register(struct ncclbpf_tuner *ctx)
{
	asm volatile("r6 = 0\n"
		     "r0 = r6\n"
		     "exit\n");
}
