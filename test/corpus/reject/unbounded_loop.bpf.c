// EXPECT: endless_loop
// SPDX-License-Identifier: MIT
// near: while (x != 7) => for (int i = 0; i < 7; i++)
// golden
// Nothing is known of when this ends.
#include "ncclbpf_policy.h"

SEC("tuner")
int unbounded_loop(struct ncclbpf_tuner *ctx)
{
	__u64 x = ctx->bytes;

	while (x != 7)
		asm volatile("%[x] *= 3" : [x] "+r"(x));
	return 0;
}
