// EXPECT: tail_call
// SPDX-License-Identifier: MIT
// golden
// near: return go_on(ctx); => return 0;
// A tail call is refused in a callback, whichever function makes it.
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

__noinline int go_on(struct ncclbpf_tuner *ctx)
{
	bpf_tail_call(ctx, &next, 0);
	return 0;
}

static long iteration(uint32_t i, struct ncclbpf_tuner *ctx)
{
	return go_on(ctx);
}

SEC("tuner")
int in_a_callback(struct ncclbpf_tuner *ctx)
{
	bpf_loop(3, iteration, ctx, 0);
	return go_on(ctx);
}

SEC("tuner/target")
int target(struct ncclbpf_tuner *ctx)
{
	ctx->channels = 4;
	return 0;
}
