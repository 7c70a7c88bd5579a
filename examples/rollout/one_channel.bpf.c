// SPDX-License-Identifier: MIT
/*
 * A policy that the verifier accepts, but that is slow: one channel for large
 * sizes.
 */
#include "ncclbpf_policy.h"

SEC("tuner")
int one_channel(struct ncclbpf_tuner *ctx)
{
	if (ctx->bytes >= MIB(4))
		ctx->channels = 1;
	return 0;
}
