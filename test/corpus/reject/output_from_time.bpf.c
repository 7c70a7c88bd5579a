// EXPECT: local_output
// SPDX-License-Identifier: MIT
// near: bpf_ktime_get_ns() => ctx->bytes
// golden
// Clocks differ between ranks; so would the answers.
#include "ncclbpf_policy.h"

SEC("tuner")
int output_from_time(struct ncclbpf_tuner *ctx)
{
	ctx->channels = 1 + (bpf_ktime_get_ns() & 7);
	return 0;
}
