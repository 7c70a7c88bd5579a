// EXPECT: local_output
// SPDX-License-Identifier: MIT
// golden
// near: ctx->reg_buff => ctx->ranks
// Five loops take all iterations of the run on a rank with registered buffers.
// The target of the tail call finds none there, and chooses other channels.
#include "ncclbpf_policy.h"

int count(struct ncclbpf_tuner *ctx);

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(key_size, 4);
	__uint(max_entries, 1);
	int (*values[])(struct ncclbpf_tuner *);
} next __coherent SEC(".maps") = {
	.values = { [0] = count },
};

static long nothing(uint32_t i, void *unused)
{
	return 0;
}

static long one_more(uint32_t i, uint32_t *n)
{
	*n += 1;
	return 0;
}

__noinline int go_on(struct ncclbpf_tuner *ctx)
{
	bpf_tail_call(ctx, &next, 0);
	return 0;
}

SEC("tuner")
int tail_call_in_global_function(struct ncclbpf_tuner *ctx)
{
	uint32_t iterations = ctx->reg_buff ? 1 << 23 : 1;

	bpf_loop(iterations, nothing, 0, 0);
	bpf_loop(iterations, nothing, 0, 0);
	bpf_loop(iterations, nothing, 0, 0);
	bpf_loop(iterations, nothing, 0, 0);
	bpf_loop(iterations, nothing, 0, 0);
	return go_on(ctx);
}

SEC("tuner/count")
int count(struct ncclbpf_tuner *ctx)
{
	uint32_t n = 0;

	bpf_loop(1 << 20, one_more, &n, 0);
	ctx->channels = n ? 8 : 2;
	return 0;
}
