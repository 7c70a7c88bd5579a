// EXPECT: accepted
// SPDX-License-Identifier: MIT
// Twin of write_to_rodata.
#include "ncclbpf_policy.h"

const volatile __u32 limit = 8;

SEC("tuner")
int read_of_rodata(struct ncclbpf_tuner *ctx)
{
	ctx->channels = limit;
	return 0;
}
