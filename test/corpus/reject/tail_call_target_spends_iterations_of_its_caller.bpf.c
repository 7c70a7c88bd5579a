// EXPECT: local_output
// SPDX-License-Identifier: MIT
// golden
// near: bpf_loop(iterations, nothing, 0, 0) => bpf_get_prandom_u32()
// The target spends all iterations of the run on a rank with registered
// buffers, and returns to the caller of the function that made the tail call.
#include "ncclbpf_policy.h"

int spend(struct ncclbpf_tuner *ctx);

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(key_size, 4);
	__uint(max_entries, 1);
	int (*values[])(struct ncclbpf_tuner *);
} next __coherent SEC(".maps") = {
	.values = { [0] = spend },
};

static long nothing(uint32_t i, void *unused)
{
	return 0;
}

static __noinline int jump(struct ncclbpf_tuner *ctx)
{
	bpf_tail_call(ctx, &next, 0);
	return 0;
}

SEC("tuner")
int caller(struct ncclbpf_tuner *ctx)
{
	uint32_t n;

	jump(ctx);
	n = bpf_loop(1 << 20, nothing, 0, 0);
	ctx->channels = n ? 8 : 2;
	return 0;
}

SEC("tuner/spend")
int spend(struct ncclbpf_tuner *ctx)
{
	uint32_t iterations = ctx->reg_buff ? 1 << 23 : 1;

#pragma unroll
	for (int i = 0; i < 5; i++)
		bpf_loop(iterations, nothing, 0, 0);
	return 0;
}
