// EXPECT: accepted
// SPDX-License-Identifier: MIT
// One static constant of 32 bytes, which clang puts into .rodata.cst32: a
// mergeable section, without a symbol, described as .rodata.
#include "ncclbpf_policy.h"

static const __u32 by_collective[8] = { 1, 2, 4, 8, 8, 16, 16, 32 };

SEC("tuner")
int small_static_constant(struct ncclbpf_tuner *ctx)
{
	ctx->channels = by_collective[ctx->coll & 7];
	return 0;
}
