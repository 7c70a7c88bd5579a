// EXPECT: local_output
// SPDX-License-Identifier: MIT
// near: go_on(ctx); => bpf_get_smp_processor_id();
// A tail call takes the numbers that a run keeps for its first iterators, also
// one that a global function makes.
#include "ncclbpf_policy.h"

int target(struct ncclbpf_tuner *ctx);

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(key_size, 4);
	__uint(max_entries, 1);
	int (*values[])(struct ncclbpf_tuner *);
} next __coherent SEC(".maps") = {
	.values = { [0] = target },
};

static long nothing(uint32_t i, void *unused)
{
	return 0;
}

__noinline int go_on(struct ncclbpf_tuner *ctx)
{
	bpf_tail_call(ctx, &next, 0);
	return 0;
}

SEC("tuner")
int counts(struct ncclbpf_tuner *ctx)
{
	uint32_t iterations = ctx->reg_buff ? 1 << 23 : 1, n = 0;

	go_on(ctx);
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
	return 0;
}
