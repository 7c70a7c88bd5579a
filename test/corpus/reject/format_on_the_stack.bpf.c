// EXPECT: arg_memory
// SPDX-License-Identifier: MIT
// near: fmt[4] = "%u", text => text
// near: , fmt, => , "%u",
// A format that could change, and may have no end.
#include "ncclbpf_policy.h"

SEC("tuner")
int format_on_the_stack(struct ncclbpf_tuner *ctx)
{
	char fmt[4] = "%u", text[16];
	uint64_t n = ctx->bytes;

	bpf_snprintf(text, sizeof(text), fmt, &n, sizeof(n));
	return 0;
}
