// SPDX-License-Identifier: MIT
/* What a controller sees of its clock, its runs and a merged map, as answers of later decisions. */
#include "ncclbpf_policy.h"

enum { MS = 1000000 };

struct seen {
	__u64 now_ms, since_ms, run, changes, sum;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct seen);
} seen SEC(".maps") __coherent;

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} sum SEC(".maps") __merged(sum);

SEC("tuner")
int show(struct ncclbpf_tuner *ctx)
{
	__u32 zero = 0;
	struct seen *s = bpf_map_lookup_elem(&seen, &zero);

	if (ctx->coll == NCCL_COLL_BROADCAST)
		ctx->channels = (__u32)s->sum;
	else if (ctx->coll == NCCL_COLL_REDUCE)
		ctx->channels = (__u32)(s->run << 16 | s->changes);
	else
		ctx->channels = (__u32)(s->now_ms << 16 | s->since_ms);
	return 0;
}

SEC("profiler/coll_done")
int add(struct ncclbpf_coll_done *ctx)
{
	__u32 zero = 0;
	__u64 *s = bpf_map_lookup_elem(&sum, &zero);

	*s += ctx->exec_ns;
	return 0;
}

SEC("controller")
int look(struct ncclbpf_controller *ctx)
{
	__u32 zero = 0;
	__u64 *s = bpf_map_lookup_elem(&sum, &zero);
	struct seen now = { ctx->now_ns / MS, ctx->since_ns / MS, ctx->run, ctx->changes, *s };

	if (ctx->now_ns != bpf_ktime_get_ns() || ctx->wall_ns != ctx->now_ns)
		now.now_ms = 0;
	bpf_map_update_elem(&seen, &zero, &now, BPF_ANY);
	ctx->interval_ns = 300 * MS;
	return 0;
}
