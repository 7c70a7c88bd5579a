// EXPECT: map_bounds
// SPDX-License-Identifier: MIT
// near: ranks & 7 => ranks & 3
// golden
// An index into an array variable that only three of its bits bound.
#include "ncclbpf_policy.h"

struct step {
	__u64 bytes;
	__u32 channels;
};

static volatile __u32 before;
static struct step steps[5];

SEC("tuner")
int variable_out_of_bounds(struct ncclbpf_tuner *ctx)
{
	__u32 i = ctx->ranks & 7;

	before++;
	steps[i].bytes += ctx->bytes;
	return 0;
}
