// SPDX-License-Identifier: MIT
// A program on each hook of the profiler, and one of the tuner: each counts
// itself and leaves what it saw last in a map that all share.
#include "ncclbpf_policy.h"

struct seen {
	__u64 count, bytes, ns, comm_id, tag;
	__u32 rank, what, ranks, channels;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 6);
	__type(key, __u32);
	__type(value, struct seen);
} seen SEC(".maps");

static __always_inline struct seen *at(__u32 i)
{
	struct seen *s = bpf_map_lookup_elem(&seen, &i);

	if (s)
		__sync_fetch_and_add(&s->count, 1);
	return s;
}

SEC("tuner")
int on_tuner(struct ncclbpf_tuner *ctx)
{
	struct seen *s = at(0);

	if (s)
		s->bytes = ctx->bytes;
	return 0;
}

SEC("profiler/coll_done")
int on_coll(struct ncclbpf_coll_done *ctx)
{
	struct seen *s = at(1);

	if (!s)
		return 0;
	s->bytes = ctx->bytes;
	s->ns = ctx->exec_ns;
	s->comm_id = ctx->comm_id >> 8; /* fits JSON readers */
	s->rank = ctx->rank;
	s->what = ctx->coll << 16 | ctx->algo << 8 | ctx->proto;
	s->ranks = ctx->ranks;
	s->channels = ctx->channels;
	s->tag = ctx->tag;
	return 0;
}

SEC("profiler/p2p_done")
int on_p2p(struct ncclbpf_p2p_done *ctx)
{
	struct seen *s = at(2);

	if (!s)
		return 0;
	s->bytes = ctx->bytes;
	s->ns = ctx->exec_ns;
	s->comm_id = ctx->comm_id >> 8; /* fits JSON readers */
	s->rank = ctx->rank;
	s->what = ctx->send << 8 | ctx->peer;
	s->ranks = ctx->ranks;
	s->channels = ctx->channels;
	s->tag = ctx->tag;
	return 0;
}

SEC("profiler/proxy_step")
int on_step(struct ncclbpf_proxy_step *ctx)
{
	struct seen *s = at(3);

	if (!s)
		return 0;
	s->bytes = ctx->bytes;
	s->ns = ctx->ns >= ctx->net_wait_ns + ctx->gpu_wait_ns;
	s->comm_id = ctx->comm_id >> 8; /* fits JSON readers */
	s->rank = ctx->rank;
	s->what = ctx->func << 16 | ctx->send << 8 | ctx->step;
	s->channels = ctx->channel;
	return 0;
}

SEC("profiler/kernel_ch")
int on_kernel(struct ncclbpf_kernel_ch *ctx)
{
	struct seen *s = at(4);

	if (!s)
		return 0;
	s->bytes = ctx->bytes;
	s->ns = ctx->gpu_ns;
	s->comm_id = ctx->comm_id >> 8; /* fits JSON readers */
	s->rank = ctx->rank;
	s->what = ctx->func << 16 | ctx->algo << 8 | ctx->proto;
	s->ranks = ctx->ranks;
	s->channels = ctx->channel;
	return 0;
}

SEC("profiler/group")
int on_group(struct ncclbpf_group *ctx)
{
	struct seen *s = at(5);

	if (!s)
		return 0;
	s->comm_id = ctx->comm_id >> 8; /* fits JSON readers */
	s->rank = ctx->rank;
	s->ranks = ctx->ranks;
	return 0;
}
