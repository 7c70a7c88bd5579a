// EXPECT: arg_memory
// SPDX-License-Identifier: MIT
// near: fmt[2] => fmt[3]
// A constant format, but its NUL is missing.
#include "ncclbpf_policy.h"

static const char fmt[2] = "%u";

SEC("tuner")
int text_without_an_end(struct ncclbpf_tuner *ctx)
{
	uint64_t n = ctx->bytes;
	char text[16];

	bpf_snprintf(text, sizeof(text), fmt, &n, sizeof(n));
	return 0;
}
