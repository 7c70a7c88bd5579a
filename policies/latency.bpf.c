// SPDX-License-Identifier: MIT
// How long collectives take, in a map: for each collective and power of two of
// the size, a histogram by powers of two of microseconds, beside how often
// NCCL asked about it. One policy, two hooks, one map.
//
//	ncclbpf-shell map dump latency
#include "ncclbpf_policy.h"

enum { BUCKETS = 20 };

struct key {
	__u32 coll;
	__u32 size_log2; /* 2^size_log2 bytes or more, less than twice that */
};

struct value {
	__u64 asked;  /* decisions */
	__u64 count;  /* collectives whose time is known */
	__u64 sum_ns; /* of their times */
	__u64 max_ns;
	/* bucket b: less than 2^b microseconds, and not in the one before */
	__u64 bucket[BUCKETS];
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 512);
	__type(key, struct key);
	__type(value, struct value);
} latency SEC(".maps");

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

static __always_inline struct value *value_of(__u32 coll, __u64 bytes)
{
	struct key key = { coll, log2_of(bytes) };
	struct value *v = bpf_map_lookup_elem(&latency, &key);
	static const struct value zero;

	if (v)
		return v;
	bpf_map_update_elem(&latency, &key, &zero, BPF_NOEXIST);
	return bpf_map_lookup_elem(&latency, &key);
}

SEC("tuner")
int asked(struct ncclbpf_tuner *ctx)
{
	struct value *v = value_of(ctx->coll, ctx->bytes);

	if (v)
		__sync_fetch_and_add(&v->asked, 1);
	return 0;
}

SEC("profiler/coll_done")
int done(struct ncclbpf_coll_done *ctx)
{
	__u64 ns = ctx->exec_ns ? ctx->exec_ns : ctx->enqueue_ns;
	struct value *v = value_of(ctx->coll, ctx->bytes);
	__u32 b;

	if (!v || !ns)
		return 0;
	__sync_fetch_and_add(&v->count, 1);
	__sync_fetch_and_add(&v->sum_ns, ns);
	if (ns > v->max_ns)
		v->max_ns = ns;
	b = ns < 1000 ? 0 : log2_of(ns / 1000) + 1;
	if (b >= BUCKETS)
		b = BUCKETS - 1;
	__sync_fetch_and_add(&v->bucket[b], 1);
	return 0;
}
