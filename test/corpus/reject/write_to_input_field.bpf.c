// EXPECT: ctx_read_only
// SPDX-License-Identifier: MIT
// near: ctx->bytes = 4096 => ctx->channels = 4
// golden
// `bytes` is an input.
#include "ncclbpf_policy.h"

SEC("tuner")
int write_to_input_field(struct ncclbpf_tuner *ctx)
{
	ctx->bytes = 4096;
	return 0;
}
