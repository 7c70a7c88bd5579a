// SPDX-License-Identifier: MIT
// Asks for Ring with Simple in chunks of 256 KiB.
#include "ncclbpf_policy.h"

SEC("tuner")
int chunks_of_256k(struct ncclbpf_tuner *ctx)
{
	ctx->algo = NCCL_ALGO_RING;
	ctx->proto = NCCL_PROTO_SIMPLE;
	ctx->chunk_size = 256 << 10;
	return 0;
}
