// EXPECT: local_output
// SPDX-License-Identifier: MIT
// near: ctx->reg_buff => ctx->nodes
// The iterations of a run are not all left to the target of a tail call, so a
// loop of local length in it may take the last ones.
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

SEC("tuner")
int takes_turns(struct ncclbpf_tuner *ctx)
{
	bpf_loop(1 << 23, nothing, 0, 0);
	bpf_loop(1 << 23, nothing, 0, 0);
	bpf_loop(1 << 23, nothing, 0, 0);
	bpf_tail_call(ctx, &next, 0);
	return 0;
}

SEC("tuner/target")
int target(struct ncclbpf_tuner *ctx)
{
	bpf_loop(ctx->reg_buff ? 1 << 16 : 1, nothing, 0, 0);
	ctx->channels = bpf_loop(1000, nothing, 0, 0) & 15;
	return 0;
}
