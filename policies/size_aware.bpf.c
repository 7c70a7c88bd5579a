// SPDX-License-Identifier: MIT
// size_aware: choose by message size alone. Small messages are dominated by
// latency, so a tree with the low-latency protocol; middle ones go around the
// ring with LL128, which moves 120 of 128 bytes as payload; large ones want
// the full bandwidth of the simple protocol. A combination that NCCL does not
// offer (ctx->usable) is never asked for: then NCCL's own choice stands.
//
// `bytes` and `usable` are coherent inputs, so every rank answers alike.
#include "ncclbpf_policy.h"

enum { SMALL_KIB = 32, MIDDLE_MIB = 4 };

SEC("tuner")
int size_aware(struct ncclbpf_tuner *ctx)
{
	if (ctx->bytes <= KIB(SMALL_KIB)) {
		if (!ncclbpf_choose(ctx, NCCL_ALGO_TREE, NCCL_PROTO_LL))
			ncclbpf_choose(ctx, NCCL_ALGO_RING, NCCL_PROTO_LL);
	} else if (ctx->bytes <= MIB(MIDDLE_MIB)) {
		ncclbpf_choose(ctx, NCCL_ALGO_RING, NCCL_PROTO_LL128);
	} else {
		ncclbpf_choose(ctx, NCCL_ALGO_RING, NCCL_PROTO_SIMPLE);
	}
	return 0;
}
