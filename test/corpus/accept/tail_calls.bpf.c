// EXPECT: accepted
// SPDX-License-Identifier: MIT
// The first program goes on in one of two others, and by itself where there is
// none.
#include "ncclbpf_policy.h"

int few(struct ncclbpf_tuner *ctx);
int many(struct ncclbpf_tuner *ctx);

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(key_size, 4);
	__uint(max_entries, 4);
	int (*values[])(struct ncclbpf_tuner *);
} by_size __coherent SEC(".maps") = {
	.values = { [0] = few, [2] = many },
};

SEC("tuner")
int tail_calls(struct ncclbpf_tuner *ctx)
{
	bpf_tail_call(ctx, &by_size, ctx->ranks & 3);
	ctx->channels = 3;
	return 0;
}

SEC("tuner/few")
int few(struct ncclbpf_tuner *ctx)
{
	ctx->channels = 1;
	return 0;
}

SEC("tuner/many")
int many(struct ncclbpf_tuner *ctx)
{
	ctx->channels = 8;
	bpf_tail_call(ctx, &by_size, 0);
	return 0;
}
