// SPDX-License-Identifier: MIT
/*
 * net_steps records the life of connections and every step of a ring, from the
 * hooks of the net plugin. Without these hooks, that needs tracepoints in a
 * driver and timers in the program.
 *
 * `steps` has, for each kind of request and tag, a log-linear histogram of the
 * time from post to completion (8 buckets a power of two, so at most 1/16
 * off). It also has the jitter, which is the mean difference between
 * successive times. `conns` has one row for each connection or listener.
 */
#include "ncclbpf_policy.h"

enum { BUCKETS = 256, PARTS = 8 };

struct step_key {
	__u32 kind; /* 0: receive, 1: send */
	__u32 tag;  /* number of the ring's step, from 0 */
};

struct step {
	__u64 count, sum_ns, max_ns, bytes;
	__u64 last_ns;	 /* time of the latest transfer in this step */
	__u64 jitter_ns; /* sum of the differences between successive times */
	__u32 most_outstanding, errors;
	__u32 bucket[BUCKETS];
};

struct life {
	__u64 opened_ns, setup_ns, life_ns; /* opened: CLOCK_MONOTONIC */
	__u64 link, peer, bytes, requests;
	__u32 kind; /* 0: receiving, 1: sending, 2: a listener */
	__u32 errors, closed, most_outstanding;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 256);
	__type(key, struct step_key);
	__type(value, struct step);
} steps SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, __u64);
	__type(value, struct life);
} conns SEC(".maps");

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

/* Return the bucket of @ns: each power of two has 8 buckets of equal width. */
static __always_inline __u32 bucket_of(__u64 ns)
{
	__u32 top, b;

	if (ns < PARTS)
		return (__u32)ns;
	top = log2_of(ns);
	b = (top - 2) * PARTS + ((ns >> (top - 3)) & (PARTS - 1));
	return b < BUCKETS ? b : BUCKETS - 1;
}

static __always_inline void born(__u64 conn, __u64 now, __u64 setup, __u32 kind, __u64 peer,
				 __u64 link)
{
	struct life l = {
		.opened_ns = now, .setup_ns = setup, .peer = peer, .link = link, .kind = kind
	};

	bpf_map_update_elem(&conns, &conn, &l, BPF_ANY);
}

SEC("net/listen")
int on_listen(struct ncclbpf_net_listen *ctx)
{
	born(ctx->conn, ctx->now_ns, 0, 2, 0, 0);
	return 0;
}

SEC("net/connect")
int on_connect(struct ncclbpf_net_connect *ctx)
{
	if (ctx->done)
		born(ctx->conn, ctx->now_ns, ctx->ns, 1, ctx->peer, ctx->link);
	return 0;
}

SEC("net/accept")
int on_accept(struct ncclbpf_net_accept *ctx)
{
	born(ctx->conn, ctx->now_ns, ctx->ns, 0, ctx->peer, ctx->link);
	return 0;
}

static __always_inline void outstanding(__u64 conn, __u32 n)
{
	struct life *l = bpf_map_lookup_elem(&conns, &conn);

	if (l && n > l->most_outstanding)
		l->most_outstanding = n;
}

SEC("net/isend")
int on_isend(struct ncclbpf_net_isend *ctx)
{
	outstanding(ctx->conn, ctx->outstanding);
	return 0;
}

SEC("net/irecv")
int on_irecv(struct ncclbpf_net_irecv *ctx)
{
	outstanding(ctx->conn, ctx->outstanding);
	return 0;
}

SEC("net/test")
int on_done(struct ncclbpf_net_test *ctx)
{
	struct step_key key = { ctx->kind, ctx->tag };
	struct step *s = bpf_map_lookup_elem(&steps, &key);
	static const struct step zero;
	__u64 ns = ctx->ns;
	__u32 b;

	if (!s) {
		bpf_map_update_elem(&steps, &key, &zero, BPF_NOEXIST);
		s = bpf_map_lookup_elem(&steps, &key);
	}
	if (!s)
		return 0;
	if (ctx->error) {
		__sync_fetch_and_add(&s->errors, 1);
		return 0;
	}
	if (s->count)
		s->jitter_ns += ns > s->last_ns ? ns - s->last_ns : s->last_ns - ns;
	s->last_ns = ns;
	s->sum_ns += ns;
	s->bytes += ctx->bytes;
	s->count++;
	if (ns > s->max_ns)
		s->max_ns = ns;
	b = bucket_of(ns);
	if (b < BUCKETS)
		s->bucket[b]++;
	return 0;
}

SEC("net/close")
int on_close(struct ncclbpf_net_close *ctx)
{
	__u64 conn = ctx->conn;
	struct life *l = bpf_map_lookup_elem(&conns, &conn);

	if (!l)
		return 0;
	l->life_ns = ctx->ns;
	l->bytes = ctx->bytes;
	l->requests = ctx->requests;
	l->errors = ctx->errors;
	l->closed = 1;
	return 0;
}
