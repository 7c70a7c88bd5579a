// SPDX-License-Identifier: MIT
// Asks for Ring with Simple in chunks of 256 bytes, less than NCCL can have.
#include "ncclbpf_policy.h"

SEC("tuner")
int chunks_of_256(struct ncclbpf_tuner *ctx)
{
	ctx->algo = NCCL_ALGO_RING;
	ctx->proto = NCCL_PROTO_SIMPLE;
	ctx->chunk_size = 256;
	return 0;
}
