// EXPECT: local_verdict
// SPDX-License-Identifier: MIT
// near: bpf_ktime_get_ns() => ctx->bytes
// golden
// The return value counts as an answer; clocks differ between ranks.
#include "ncclbpf_policy.h"

SEC("tuner")
int verdict_from_time(struct ncclbpf_tuner *ctx)
{
	return bpf_ktime_get_ns() & 1;
}
