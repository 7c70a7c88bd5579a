// SPDX-License-Identifier: MIT
/*
 * slo_enforcer keeps collectives within a time and a number of channels. For
 * each {collective, size class} the coherent map `targets` has the longest
 * time and the largest number of channels (SMs taken from compute). ANY_CLASS
 * stands for all sizes of a collective. The coherent map `model` has the cost
 * of each algorithm and protocol. If NCCL's choice misses the time, and the
 * ring with the protocol for this size meets it, the policy chooses the ring.
 * If neither meets it, NCCL's choice stands, within the channels.
 *
 * `outcomes` counts decisions, misses of NCCL's choice, and mended misses.
 *
 * In a closed loop, the controller sets the channels of `targets` for each key
 * of the coherent map `limits`, by the geometric mean of the times that all
 * ranks measured in an interval, in which a few long times count little. For a
 * limit of single times give a shorter time. The controller starts at START
 * channels and adds STEP if the mean misses the time, up to the limit. It returns to
 * START if the mean misses the time by more than FACTOR, because other traffic then
 * uses the links and more channels would not help.
 */
#include "ncclbpf_policy.h"

enum { START = 2, STEP = 2, SAMPLES = 16 };
enum { FACTOR = 512 }; /* four times the time, as ncclbpf_log2_fine has it */
enum { ANY_CLASS = 64, COMBINATIONS = NCCL_NUM_ALGOS * NCCL_NUM_PROTOS };

struct slo_key {
	__u32 coll;  /* one of NCCL_COLL_* */
	__u32 class; /* base-2 logarithm of the bytes, or ANY_CLASS */
};

struct target {
	__u64 time_ns;	    /* longest time; 0: no limit */
	__u32 max_channels; /* largest number; 0: no limit */
	__u32 min_ranks;    /* smallest communicator, in ranks */
};

struct cost {
	__u64 base_ns;	  /* latency of an empty operation */
	__u64 ns_per_mib; /* time of a MiB on one channel */
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

/*
 * A sum of logarithms, because a busy host makes single times many times too
 * long.
 */
struct sum {
	__u64 n, log; /* sum of ncclbpf_log2_fine of n times */
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 256);
	__type(key, struct slo_key);
	__type(value, __u64); /* the controller's upper limit of channels */
} limits SEC(".maps") __coherent;

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 512);
	__type(key, struct slo_key);
	__type(value, struct sum);
} measured SEC(".maps") __merged(sum);

/* What the controller stores for a key, in the elected process. */
struct judged {
	struct sum before;
	__u64 settle;	 /* the sums include times before the last change */
	__u64 processes; /* number of the job's processes in the last run */
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 256);
	__type(key, struct slo_key);
	__type(value, struct judged);
} judged SEC(".maps");

/* Would the combination meet the target? No, if its cost is unknown. */
static __always_inline int meets(const struct ncclbpf_tuner *ctx, const struct target *t, int algo,
				 int proto)
{
	__u32 row = (__u32)(algo * NCCL_NUM_PROTOS + proto);
	__u64 channels = t->max_channels ? t->max_channels : 1;
	struct cost *c = bpf_map_lookup_elem(&model, &row);

	if (!c || !c->known)
		return 0;
	return c->base_ns + (ctx->bytes >> 20) * c->ns_per_mib / channels <= t->time_ns;
}

/* Choose the ring if it meets the target. Returns 1 if it was chosen. */
static __always_inline int mend(struct ncclbpf_tuner *ctx, const struct target *t)
{
	int proto = ctx->bytes < MIB(1)	   ? NCCL_PROTO_LL
		    : ctx->bytes < MIB(32) ? NCCL_PROTO_LL128
					   : NCCL_PROTO_SIMPLE;

	return meets(ctx, t, NCCL_ALGO_RING, proto) && ncclbpf_choose(ctx, NCCL_ALGO_RING, proto);
}

static __always_inline void count(const struct slo_key *key, int missed, int mended)
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

static __always_inline void add(const struct slo_key *key, __u64 ns)
{
	__u64 log = ncclbpf_log2_fine(ns);
	struct sum first = { 1, log };
	struct sum *s = bpf_map_lookup_elem(&measured, key);

	if (!s) {
		bpf_map_update_elem(&measured, key, &first, BPF_NOEXIST);
		return;
	}
	__sync_fetch_and_add(&s->n, 1);
	__sync_fetch_and_add(&s->log, log);
}

SEC("profiler/coll_done")
int measure(struct ncclbpf_coll_done *ctx)
{
	struct slo_key key = { ctx->coll, ncclbpf_log2(ctx->bytes) };
	struct slo_key any = { ctx->coll, ANY_CLASS };

	if (!ctx->exec_ns)
		return 0;
	if (bpf_map_lookup_elem(&limits, &key))
		add(&key, ctx->exec_ns);
	else if (bpf_map_lookup_elem(&limits, &any))
		add(&any, ctx->exec_ns);
	return 0;
}

static __always_inline __u32 budget(const struct target *t, __u64 limit, __u64 mean)
{
	__u32 most = limit < 64 ? (__u32)limit : 64;
	__u64 longest = ncclbpf_log2_fine(t->time_ns);

	if (!t->max_channels || mean > longest + FACTOR)
		return START;
	if (mean <= longest || t->max_channels >= most)
		return t->max_channels;
	return t->max_channels + STEP < most ? t->max_channels + STEP : most;
}

static long enforce(void *map, const struct slo_key *at, const __u64 *limit, void *arg)
{
	const __u32 *processes = arg;
	struct slo_key key = *at;
	struct judged fresh = { { 0, 0 }, 0, 0 };
	struct target *t = bpf_map_lookup_elem(&targets, &key);
	struct sum *s = bpf_map_lookup_elem(&measured, &key);
	struct judged *j = bpf_map_lookup_elem(&judged, &key);
	struct target want;
	__u64 n, log;

	(void)map;
	if (!t || !s)
		return 0;
	if (!j) {
		bpf_map_update_elem(&judged, &key, &fresh, BPF_NOEXIST);
		j = bpf_map_lookup_elem(&judged, &key);
		if (!j)
			return 0;
	}
	/* a process has ended, and its times no longer count */
	if (*processes < j->processes || s->n < j->before.n)
		j->before = *s;
	j->processes = *processes;
	n = s->n - j->before.n;
	log = s->log - j->before.log;
	if (n < SAMPLES)
		return 0;
	j->before = *s;
	if (j->settle) {
		j->settle = 0;
		return 0;
	}
	want = *t;
	want.max_channels = budget(t, *limit, log / n);
	if (want.max_channels == t->max_channels)
		return 0;
	j->settle = 1;
	bpf_map_update_elem(&targets, &key, &want, BPF_ANY);
	return 0;
}

SEC("controller")
int enforce_targets(struct ncclbpf_controller *ctx)
{
	__u32 processes = ctx->processes;

	bpf_for_each_map_elem(&limits, enforce, &processes, 0);
	return 0;
}
