// SPDX-License-Identifier: MIT
/* step_latency measures work requests of each queue pair from the post to the
 * completion, as a histogram by powers of two of microseconds. A receive waits
 * for its sender, so its time depends on the peer.
 *
 *	ncclbpf-shell map dump steps */
#include "ncclbpf_policy.h"

enum { BUCKETS = 24 };

struct key {
	__u32 qp, device;
	__u32 send; /* 1: sent, 0: received */
};

struct step {
	__u64 count, sum_ns, max_ns, bytes;
	__u64 posts,
		/* calls of ibv_post_*, and the time spent inside them */
		post_ns;
	__u64 bucket[BUCKETS]; /* bucket b: less than 2^b microseconds */
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 2048);
	__type(key, struct key);
	__type(value, struct step);
} steps SEC(".maps");

static __always_inline struct step *step_of(__u32 device, __u32 qp, __u32 send)
{
	struct key key = { qp, device, send };
	struct step *s = bpf_map_lookup_elem(&steps, &key);
	static const struct step zero;

	if (s)
		return s;
	bpf_map_update_elem(&steps, &key, &zero, BPF_NOEXIST);
	return bpf_map_lookup_elem(&steps, &key);
}

static __always_inline __u32 log2_of(__u64 v)
{
	__u32 n = 0;

	for (int step = 32; step; step /= 2)
		if (v >> step) {
			v >>= step;
			n += step;
		}
	return n;
}

SEC("verbs/post")
int on_post(struct ncclbpf_verbs_post *ctx)
{
	struct step *s = step_of(ctx->device, ctx->qp, ctx->send);

	if (s) {
		s->posts++;
		s->post_ns += ctx->ns;
	}
	return 0;
}

SEC("verbs/done")
int on_done(struct ncclbpf_verbs_done *ctx)
{
	struct step *s;
	__u32 b;

	if (ctx->status || !ctx->ns)
		return 0;
	s = step_of(ctx->device, ctx->qp, ctx->send);
	if (!s)
		return 0;
	b = log2_of(ctx->ns / 1000) + (ctx->ns >= 1000);
	if (b >= BUCKETS)
		b = BUCKETS - 1;
	s->count++;
	s->sum_ns += ctx->ns;
	if (ctx->ns > s->max_ns)
		s->max_ns = ctx->ns;
	s->bytes += ctx->bytes;
	s->bucket[b]++;
	return 0;
}
