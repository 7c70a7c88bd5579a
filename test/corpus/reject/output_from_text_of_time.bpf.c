// EXPECT: local_output
// SPDX-License-Identifier: MIT
// near: bpf_ktime_get_ns() => ctx->bytes
// The same, but what is printed is one rank's clock.
#include "ncclbpf_policy.h"

SEC("tuner")
int output_from_text_of_time(struct ncclbpf_tuner *ctx)
{
	char text[24];
	int64_t n = 0;

	ncclbpf_snprintf(text, sizeof(text), "%llu", bpf_ktime_get_ns());
	bpf_strtol(text, sizeof(text), 10, &n);
	ctx->channels = (uint32_t)n & 31;
	return 0;
}
