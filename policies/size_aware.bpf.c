// SPDX-License-Identifier: MIT
/* size_aware chooses by the message size. Latency dominates small messages, so
 * they take a tree with the low-latency protocol. Middle sizes take the ring
 * with LL128, which carries 120 of 128 bytes as payload. Large messages take
 * the full bandwidth of the simple protocol. If NCCL does not offer a
 * combination (ctx->usable), its own choice stands.
 *
 * `bytes` and `usable` are coherent inputs, so every rank answers alike. */
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
