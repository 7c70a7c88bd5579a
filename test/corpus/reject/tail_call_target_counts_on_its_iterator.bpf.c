// EXPECT: local_output
// SPDX-License-Identifier: MIT
// near: [0] = counts => [0] = target
// A run has numbers for its first iterators, whatever loops spent before. The
// target of a tail call does not begin a run: its iterator may end early.
#include "ncclbpf_policy.h"

int counts(struct ncclbpf_tuner *ctx);
int target(struct ncclbpf_tuner *ctx);

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(key_size, 4);
	__uint(max_entries, 1);
	int (*values[])(struct ncclbpf_tuner *);
} next __coherent SEC(".maps") = {
	.values = { [0] = counts },
};

static long nothing(uint32_t i, void *unused)
{
	return 0;
}

SEC("tuner")
int counts(struct ncclbpf_tuner *ctx)
{
	uint32_t iterations = ctx->reg_buff ? 1 << 23 : 1, n = 0;

	bpf_loop(iterations, nothing, 0, 0);
	bpf_loop(iterations, nothing, 0, 0);
	bpf_loop(iterations, nothing, 0, 0);
	bpf_loop(iterations, nothing, 0, 0);
	bpf_loop(iterations, nothing, 0, 0);
	ncclbpf_repeat(100) n++;
	ctx->channels = n & 15;
	return 0;
}

SEC("tuner/target")
int target(struct ncclbpf_tuner *ctx)
{
	ctx->channels = 4;
	bpf_tail_call(ctx, &next, ctx->ranks);
	return 0;
}
