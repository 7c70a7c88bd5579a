// SPDX-License-Identifier: MIT
/* latency measures the times of collectives. Its map has, for each collective
 * and power of two of the size, a histogram of times by powers of two of
 * microseconds, and the number of NCCL's questions.
 *
 *	ncclbpf-shell map dump latency */
#include "ncclbpf_policy.h"

enum { BUCKETS = 20 };

struct key {
	__u32 coll;
	__u32 size_log2; /* sizes from 2^size_log2 to twice that */
};

struct value {
	__u64 asked;  /* number of NCCL's questions */
	__u64 count;  /* collectives with a known time */
	__u64 sum_ns; /* sum of these times */
	__u64 max_ns;
	/* bucket b counts times below 2^b us that bucket b - 1 does not */
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
