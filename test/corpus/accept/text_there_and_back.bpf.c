// EXPECT: accepted
// SPDX-License-Identifier: MIT
// A number into text and back is as coherent as it was.
#include "ncclbpf_policy.h"

SEC("tuner")
int text_there_and_back(struct ncclbpf_tuner *ctx)
{
	char text[24];
	int64_t n = 0;

	if (ncclbpf_snprintf(text, sizeof(text), "%llu", ctx->bytes >> 20) < 0)
		return 0;
	if (bpf_strtol(text, sizeof(text), 10, &n) < 0)
		return 0;
	ctx->channels = n < 32 ? (uint32_t)n : 32;
	return 0;
}
