// EXPECT: pointer_range
// SPDX-License-Identifier: MIT
// near: sum > 1000 => sum < 8
// golden
// The loop widens the sum, which opens the branch behind it. A replay of the path does not widen.
#include "ncclbpf_policy.h"

static const __u32 limit[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };

SEC("tuner")
int branch_that_widening_opens(struct ncclbpf_tuner *ctx)
{
	__u64 sum = 0;
	int i;

	ncclbpf_for(i, 0, ctx->ranks) asm volatile("%0 += 3" : "+r"(sum));
	asm volatile("" : "+r"(sum));
	if (sum > 1000)
		ctx->channels = limit[sum];
	return 0;
}
