// SPDX-License-Identifier: MIT
/* gin_pace limits puts to each peer with a token bucket. `gin_rate` has the
 * rate in bytes per second and the burst in bytes, element 0 for all peers and
 * element 1 + peer for one peer. Rate 0 is no limit. A peer with many bytes
 * then delays others less. An operation waits at most 10 ms, so the policy
 * cannot keep a rate below 100 operations a second.
 *
 *	ncclbpf-shell map set gin_rate 0 {rate=2000000000, burst=1048576}
 *	ncclbpf-shell map dump gin_paced */
#include "ncclbpf_policy.h"

enum { PEERS = 1024, MOST_NS = 10000000 };

struct rate {
	__u64 rate, burst;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, PEERS + 1);
	__type(key, __u32);
	__type(value, struct rate);
} gin_rate SEC(".maps");

struct key {
	__u64 coll;
	__u32 peer, context;
};

/* free_ns: time at which the bucket is full again, CLOCK_MONOTONIC */
struct value {
	__u64 free_ns;
	__u64 held, held_ns;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, struct key);
	__type(value, struct value);
} gin_paced SEC(".maps");

static __always_inline const struct rate *rate_of(__u32 peer)
{
	__u32 own = peer + 1, zero = 0;
	const struct rate *r = bpf_map_lookup_elem(&gin_rate, &own);

	if (r && r->rate)
		return r;
	return bpf_map_lookup_elem(&gin_rate, &zero);
}

static __always_inline struct value *value_of(const struct key *key)
{
	struct value *v = bpf_map_lookup_elem(&gin_paced, key);
	static const struct value zero;

	if (v)
		return v;
	bpf_map_update_elem(&gin_paced, key, &zero, BPF_NOEXIST);
	return bpf_map_lookup_elem(&gin_paced, key);
}

/*
 * The bucket as a time: free_ns moves on by the time that the bytes take at the
 * rate. An operation may go when free_ns is at most a burst ahead of it.
 */
SEC("gin/put")
int gin_pace(struct ncclbpf_gin_put *ctx)
{
	struct key key = { ctx->coll, ctx->peer, ctx->context };
	const struct rate *r = rate_of(ctx->peer);
	__u64 start, burst_ns, go, hold;
	struct value *v;

	if (!r || !r->rate)
		return 0;
	v = value_of(&key);
	if (!v)
		return 0;
	start = v->free_ns > ctx->now_ns ? v->free_ns : ctx->now_ns;
	burst_ns = ncclbpf_sat_mul(r->burst, 1000000000) / r->rate;
	go = ncclbpf_sat_sub(start, burst_ns);
	v->free_ns = start + ncclbpf_sat_mul(ctx->bytes, 1000000000) / r->rate;
	/* the previous operation may be delayed already */
	hold = ncclbpf_sat_sub(go, ctx->now_ns + ctx->behind_ns);
	if (!hold)
		return 0;
	ctx->hold_ns = hold < MOST_NS ? hold : MOST_NS;
	v->held++;
	v->held_ns += ctx->hold_ns;
	return 0;
}
