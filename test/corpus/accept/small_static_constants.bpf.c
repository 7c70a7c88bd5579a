// EXPECT: accepted
// SPDX-License-Identifier: MIT
// Static constants of 16 and 32 bytes: clang puts them into mergeable sections
// (.rodata.cst16, .rodata.cst32), and leaves no section .rodata.
#include "ncclbpf_policy.h"

static const __u32 by_collective[8] = { 1, 2, 4, 8, 8, 16, 16, 32 };
static const __u32 by_ranks[4] = { 1, 2, 4, 8 };

SEC("tuner")
int small_static_constants(struct ncclbpf_tuner *ctx)
{
	ctx->channels = by_collective[ctx->coll & 7] + by_ranks[ctx->ranks & 3];
	return 0;
}
