// SPDX-License-Identifier: MIT
/* gin_peers counts the puts, signals and bytes of kernels to each peer, by
 * context. It records the times of operations in a histogram by powers of two
 * of microseconds. The peer with the most bytes is the hot expert of a
 * mixture-of-experts layer.
 *
 *	ncclbpf-shell map dump gin_peers */
#include "ncclbpf_policy.h"

enum { BUCKETS = 20 };

struct key {
	__u64 comm_id;
	__u32 rank, peer, context, pad;
};

struct value {
	__u64 puts, signals, bytes;
	__u64 done, errors;
	__u64 sum_ns, max_ns; /* only operations with a known time */
	/* bucket b counts times below 2^b us that bucket b - 1 does not */
	__u64 bucket[BUCKETS];
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, struct key);
	__type(value, struct value);
} gin_peers SEC(".maps");

static __always_inline struct value *value_of(const struct key *key)
{
	struct value *v = bpf_map_lookup_elem(&gin_peers, key);
	static const struct value zero;

	if (v)
		return v;
	bpf_map_update_elem(&gin_peers, key, &zero, BPF_NOEXIST);
	return bpf_map_lookup_elem(&gin_peers, key);
}

/* Several collComms may share a key from different threads: use atomics. */
SEC("gin/put")
int gin_peers_put(struct ncclbpf_gin_put *ctx)
{
	struct key key = { ctx->comm_id, ctx->rank, ctx->peer, ctx->context, 0 };
	struct value *v = value_of(&key);

	if (!v)
		return 0;
	if (ctx->bytes)
		__sync_fetch_and_add(&v->puts, 1);
	if (ctx->op)
		__sync_fetch_and_add(&v->signals, 1);
	__sync_fetch_and_add(&v->bytes, ctx->bytes);
	return 0;
}

SEC("gin/done")
int gin_peers_done(struct ncclbpf_gin_done *ctx)
{
	struct key key = { ctx->comm_id, ctx->rank, ctx->peer, ctx->context, 0 };
	struct value *v = value_of(&key);
	__u64 b;

	if (!v)
		return 0;
	__sync_fetch_and_add(&v->done, 1);
	if (ctx->error)
		__sync_fetch_and_add(&v->errors, 1);
	if (!ctx->ns)
		return 0;
	__sync_fetch_and_add(&v->sum_ns, ctx->ns);
	if (ctx->ns > v->max_ns)
		v->max_ns = ctx->ns;
	b = ctx->ns < 1000 ? 0 : ncclbpf_log2(ctx->ns / 1000) + 1;
	if (b >= BUCKETS)
		b = BUCKETS - 1;
	__sync_fetch_and_add(&v->bucket[b], 1);
	return 0;
}
