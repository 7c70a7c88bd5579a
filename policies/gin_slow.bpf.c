// SPDX-License-Identifier: MIT
/* gin_slow finds peers whose signals come late. For each peer it measures the
 * time from the first put of a batch to the signal that ends the batch. A
 * signal is late if this time exceeds `gin_late` (element 0, nanoseconds).
 *
 *	ncclbpf-shell map set gin_late 0 500000
 *	ncclbpf-shell map dump gin_slow */
#include "ncclbpf_policy.h"

enum { LIMIT_NS = 1000000 };

struct key {
	__u64 comm_id;
	__u32 rank, peer;
};

struct value {
	__u64 signals, late;
	__u64 bytes;	      /* sum over all batches */
	__u64 sum_ns, max_ns; /* times of the batches with puts */
	__u64 last_late_ns;   /* CLOCK_MONOTONIC of the last late signal */
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, struct key);
	__type(value, struct value);
} gin_slow SEC(".maps");

/* 0: LIMIT_NS */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} gin_late SEC(".maps");

SEC("gin/signal")
int gin_slow_signal(struct ncclbpf_gin_signal *ctx)
{
	struct key key = { ctx->comm_id, ctx->rank, ctx->peer };
	struct value *v = bpf_map_lookup_elem(&gin_slow, &key);
	static const struct value none;
	__u32 zero = 0;
	__u64 *limit = bpf_map_lookup_elem(&gin_late, &zero);

	if (!v) {
		bpf_map_update_elem(&gin_slow, &key, &none, BPF_NOEXIST);
		v = bpf_map_lookup_elem(&gin_slow, &key);
	}
	if (!v)
		return 0;
	__sync_fetch_and_add(&v->signals, 1);
	__sync_fetch_and_add(&v->bytes, ctx->bytes);
	__sync_fetch_and_add(&v->sum_ns, ctx->ns);
	if (ctx->ns > v->max_ns)
		v->max_ns = ctx->ns;
	if (ctx->ns > (limit && *limit ? *limit : LIMIT_NS)) {
		__sync_fetch_and_add(&v->late, 1);
		v->last_late_ns = ctx->now_ns;
	}
	return 0;
}
