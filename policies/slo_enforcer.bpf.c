// SPDX-License-Identifier: MIT
// slo_enforcer: keep collectives within a time and a number of channels. For
// each {collective, size class} the coherent map `targets` says how long one
// may take and how many channels (SMs taken from compute) it may use; class
// ANY_CLASS holds for all sizes of a collective. The coherent map `model`
// says what a combination of algorithm and protocol costs. Where NCCL's own
// choice would miss the time and the ring, with the protocol that suits the
// size, would meet it, the ring is asked for. Where neither does, NCCL keeps
// its choice, within the budget of channels.
//
// `outcomes` counts, for the shell and a controller, decisions, misses of
// NCCL's choice, and misses that could be mended. It is written only.
#include "ncclbpf_policy.h"

enum { ANY_CLASS = 64, COMBINATIONS = NCCL_NUM_ALGOS * NCCL_NUM_PROTOS };

struct slo_key {
	__u32 coll;  /* NCCL_COLL_* */
	__u32 class; /* base-2 logarithm of the bytes, or ANY_CLASS */
};

struct target {
	__u64 time_ns;	    /* longest one may take; 0: any */
	__u32 max_channels; /* budget; 0: any */
	__u32 min_ranks;    /* smaller communicators are left alone */
};

struct cost {
	__u64 base_ns;	  /* latency of an empty operation */
	__u64 ns_per_mib; /* one channel, one MiB */
	__u64 known;	  /* 0: no such row */
};

struct outcome {
	__u64 decisions;
	__u64 missed;
	__u64 mended;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 256);
	__type(key, struct slo_key);
	__type(value, struct target);
} targets SEC(".maps") __coherent;

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, COMBINATIONS);
	__type(key, __u32);
	__type(value, struct cost);
} model SEC(".maps") __coherent;

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 512);
	__type(key, struct slo_key);
	__type(value, struct outcome);
} outcomes SEC(".maps");

/* Would a combination meet the target? Unknown ones count as not. */
static __always_inline int meets(const struct ncclbpf_tuner *ctx,
				 const struct target *t, int algo, int proto)
{
	__u32 row = (__u32)(algo * NCCL_NUM_PROTOS + proto);
	__u64 channels = t->max_channels ? t->max_channels : 1;
	struct cost *c = bpf_map_lookup_elem(&model, &row);

	if (!c || !c->known)
		return 0;
	return c->base_ns + (ctx->bytes >> 20) * c->ns_per_mib / channels <=
	       t->time_ns;
}

/* Ask for the ring where that meets the target; 1 if it was. */
static __always_inline int mend(struct ncclbpf_tuner *ctx,
				const struct target *t)
{
	int proto = ctx->bytes < MIB(1)	   ? NCCL_PROTO_LL
		    : ctx->bytes < MIB(32) ? NCCL_PROTO_LL128
					   : NCCL_PROTO_SIMPLE;

	return meets(ctx, t, NCCL_ALGO_RING, proto) &&
	       ncclbpf_choose(ctx, NCCL_ALGO_RING, proto);
}

static __always_inline void count(const struct slo_key *key, int missed,
				  int mended)
{
	struct outcome first = { 1, (__u64)missed, (__u64)mended };
	struct outcome *o = bpf_map_lookup_elem(&outcomes, key);

	if (!o) {
		bpf_map_update_elem(&outcomes, key, &first, BPF_NOEXIST);
		return;
	}
	__sync_fetch_and_add(&o->decisions, 1);
	__sync_fetch_and_add(&o->missed, (__u64)missed);
	__sync_fetch_and_add(&o->mended, (__u64)mended);
}

SEC("tuner")
int slo_enforcer(struct ncclbpf_tuner *ctx)
{
	struct slo_key key = { ctx->coll, ncclbpf_log2(ctx->bytes) };
	struct slo_key any = { ctx->coll, ANY_CLASS };
	int missed = 0, mended = 0;
	struct target *t;

	t = bpf_map_lookup_elem(&targets, &key);
	if (!t)
		t = bpf_map_lookup_elem(&targets, &any);
	if (!t || ctx->ranks < t->min_ranks)
		return 0;
	if (t->time_ns && ctx->nccl_algo >= 0 && ctx->nccl_proto >= 0)
		missed = !meets(ctx, t, ctx->nccl_algo, ctx->nccl_proto);
	if (missed)
		mended = mend(ctx, t);
	if (t->max_channels)
		ctx->channels = t->max_channels;
	count(&key, missed, mended);
	return 0;
}
