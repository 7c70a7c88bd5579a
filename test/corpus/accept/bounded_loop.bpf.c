// EXPECT: accepted
// SPDX-License-Identifier: MIT
// Twin of unbounded_loop: a counter ends it after 64 passes.
#include "ncclbpf_policy.h"

SEC("tuner")
int bounded_loop(struct ncclbpf_tuner *ctx)
{
	__u64 x = ctx->bytes;

	for (int i = 0; i < 64 && x != 7; i++)
		asm volatile("%[x] *= 3" : [x] "+r"(x));
	return 0;
}
