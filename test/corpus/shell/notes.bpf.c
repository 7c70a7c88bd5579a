// SPDX-License-Identifier: MIT
// Accepted, with a note of three kinds.
#include "ncclbpf_policy.h"

SEC("tuner")
int notes(struct ncclbpf_tuner *ctx)
{
	uint32_t share = ctx->pipe_ops & 7;

	asm volatile("" : "+r"(share));
	ctx->channels = 60 / share;
	if (share > 9)
		ctx->proto = 0;
	ctx->algo = 7;
	return 0;
}
