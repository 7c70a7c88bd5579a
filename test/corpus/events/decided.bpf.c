// SPDX-License-Identifier: MIT
// Each decision asks for one or two channels in turn, so a collective whose decision is known tells
// whether it is the right one: the parity of its number, and the channels that NCCL used.
#include "ncclbpf_policy.h"

struct seen {
	__u64 known, unknown, wrong, phase;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct seen);
} seen SEC(".maps");

SEC("tuner")
int two_in_turn(struct ncclbpf_tuner *ctx)
{
	ctx->algo = NCCL_ALGO_RING;
	ctx->proto = NCCL_PROTO_SIMPLE;
	ctx->channels = 1 + (ctx->seq & 1);
	return 0;
}

SEC("profiler/coll_done")
int check(struct ncclbpf_coll_done *ctx)
{
	__u32 zero = 0;
	struct seen *s = bpf_map_lookup_elem(&seen, &zero);

	if (!s)
		return 0;
	if (!ctx->decision) {
		__sync_fetch_and_add(&s->unknown, 1);
		if (ctx->chosen_algo != -1 || ctx->chosen_proto != -1 || ctx->generation)
			__sync_fetch_and_add(&s->wrong, 1);
		return 0;
	}
	__sync_fetch_and_add(&s->known, 1);
	/* where API calls are counted, the first decision may be the second call */
	if (!s->phase)
		s->phase = 2 + ((ctx->decision + ctx->chosen_channels) & 1);
	if (ctx->chosen != 1 || !ctx->generation || ctx->chosen_algo != NCCL_ALGO_RING ||
	    ctx->chosen_proto != NCCL_PROTO_SIMPLE ||
	    s->phase != 2 + ((ctx->decision + ctx->chosen_channels) & 1) ||
	    ctx->channels > ctx->chosen_channels || ctx->algo != ctx->chosen_algo)
		__sync_fetch_and_add(&s->wrong, 1);
	return 0;
}
