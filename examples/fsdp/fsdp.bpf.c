// SPDX-License-Identifier: MIT
/*
 * Channels by the phase of a training step of FSDP. The forward pass gathers one
 * layer's weights after the other; the backward pass gathers them again and reduces
 * the gradients, beside kernels that need the GPU; an AllReduce of the gradients' norm
 * ends the step. Nothing overlaps the first gather of a step, so it gets many channels,
 * and those of the backward pass get few.
 *
 * The phase follows from the calls so far, which a tuner program cannot know: ctx->seq
 * counts all calls, and variables differ between ranks. The map is equal on all ranks,
 * because follow() runs at each call on all of them.
 */
#include "ncclbpf_policy.h"

struct step {
	__u32 gathers;	/* AllGathers in this step */
	__u32 backward; /* 1: in the backward pass */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct step);
} step SEC(".maps") __replicated;

enum { FIRST = 32, FORWARD = 16, BACKWARD = 8 };

SEC("profiler/coll_api")
int follow(struct ncclbpf_coll_api *ctx)
{
	__u32 key = 0;
	struct step *s = bpf_map_lookup_elem(&step, &key);

	if (ctx->coll == NCCL_COLL_ALL_GATHER) {
		s->gathers++;
	} else if (ctx->coll == NCCL_COLL_REDUCE_SCATTER) {
		s->backward = 1;
	} else if (ctx->coll == NCCL_COLL_ALL_REDUCE) {
		s->gathers = 0;
		s->backward = 0;
	}
	return 0;
}

SEC("tuner")
int channels(struct ncclbpf_tuner *ctx)
{
	__u32 key = 0;
	const struct step *s = bpf_map_lookup_elem(&step, &key);

	if (ctx->coll != NCCL_COLL_ALL_GATHER)
		return 0;
	ctx->channels = s->gathers == 1 ? FIRST : s->backward ? BACKWARD : FORWARD;
	return 0;
}
