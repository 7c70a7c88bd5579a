// SPDX-License-Identifier: MIT
// Accepted, with one note, although the compiler makes copies of the line.
#include "ncclbpf_policy.h"

SEC("tuner")
int notes_unrolled(struct ncclbpf_tuner *ctx)
{
#pragma unroll
	for (int i = 0; i < 4; i++) {
		if (ctx->ranks == 10 + i * i) {
			ctx->channels = 200 + i;
			asm volatile("" ::: "memory");
		}
	}
	return 0;
}
