// SPDX-License-Identifier: MIT
/*
 * timeline records each send and receive of a process in the order of
 * completions until its map is full, and counts the calls of verbs. It serves
 * for a picture of a ring's steps, and for a comparison with the kernel's
 * counts.
 *
 *	ncclbpf-shell map dump timeline
 */
#include "ncclbpf_policy.h"

enum { STEPS = 4096, BEFORE = 1, AFTER = 2, DESTROYED = 3 };

struct step {
	__u64 start_ns, end_ns; /* times on CLOCK_MONOTONIC */
	__u64 bytes;
	__u32 send; /* 1: sent, 0: received */
	__u32 tag;  /* number of the ring's step */
};

/* Counts of the calls of verbs that the hooks have seen. */
struct calls {
	__u64 created, changed, destroyed;
	__u64 post_send, post_recv, completions, failed;
	__u64 steps; /* all steps, also beyond the map */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, STEPS);
	__type(key, __u32);
	__type(value, struct step);
} timeline SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct calls);
} calls SEC(".maps");

static __always_inline struct calls *of_process(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&calls, &zero);
}

SEC("net/test")
int on_step(struct ncclbpf_net_test *ctx)
{
	struct calls *c = of_process();
	struct step *s;
	__u32 at;

	if (!c || ctx->error)
		return 0;
	at = (__u32)__sync_fetch_and_add(&c->steps, 1);
	s = bpf_map_lookup_elem(&timeline, &at);
	if (!s)
		return 0;
	s->start_ns = ctx->now_ns - ctx->ns;
	s->end_ns = ctx->now_ns;
	s->bytes = ctx->bytes;
	s->send = ctx->kind;
	s->tag = ctx->tag;
	return 0;
}

SEC("verbs/qp")
int on_qp(struct ncclbpf_verbs_qp *ctx)
{
	struct calls *c = of_process();

	if (!c || ctx->phase == BEFORE)
		return 0;
	if (ctx->phase == AFTER)
		__sync_fetch_and_add(&c->changed, 1);
	else if (ctx->phase == DESTROYED)
		__sync_fetch_and_add(&c->destroyed, 1);
	else
		__sync_fetch_and_add(&c->created, 1);
	return 0;
}

SEC("verbs/post")
int on_post(struct ncclbpf_verbs_post *ctx)
{
	struct calls *c = of_process();

	if (!c)
		return 0;
	if (ctx->send)
		__sync_fetch_and_add(&c->post_send, 1);
	else
		__sync_fetch_and_add(&c->post_recv, 1);
	return 0;
}

SEC("verbs/done")
int on_done(struct ncclbpf_verbs_done *ctx)
{
	struct calls *c = of_process();

	if (!c)
		return 0;
	__sync_fetch_and_add(&c->completions, 1);
	if (ctx->status)
		__sync_fetch_and_add(&c->failed, 1);
	return 0;
}
