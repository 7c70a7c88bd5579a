// SPDX-License-Identifier: MIT
/* hysteresis gives large AllReduces many channels after an interval with a slow mean, and few after
 * a fast one. A mean between both limits, and one of few measurements, changes nothing. */
#include "ncclbpf_policy.h"

NCCLBPF_PARAM(slow_us, 2000, 1, 1 << 30);
NCCLBPF_PARAM(fast_us, 1200, 1, 1 << 30);
enum { FEW = 4, MANY = 16, LARGE = MIB(4), SAMPLES = 8 };
static struct sum {
	__u64 n, ns;
} before; /* the sums of the controller's last run */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} wanted SEC(".maps") __coherent;
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct sum);
} took SEC(".maps") __merged(sum);

SEC("tuner")
int hysteresis(struct ncclbpf_tuner *ctx)
{
	__u32 zero = 0, *channels = bpf_map_lookup_elem(&wanted, &zero);

	if (ctx->coll == NCCL_COLL_ALL_REDUCE && ctx->bytes >= LARGE)
		ctx->channels = *channels; /* 0, at first: NCCL's own number */
	return 0;
}

SEC("profiler/coll_done")
int measure(struct ncclbpf_coll_done *ctx)
{
	__u32 zero = 0;
	struct sum *s = bpf_map_lookup_elem(&took, &zero);

	if (ctx->coll == NCCL_COLL_ALL_REDUCE && ctx->bytes >= LARGE) {
		s->n += ctx->exec_ns > 0;
		s->ns += ctx->exec_ns;
	}
	return 0;
}

SEC("controller")
int adapt(struct ncclbpf_controller *ctx)
{
	__u32 zero = 0;
	struct sum *s = bpf_map_lookup_elem(&took, &zero), was = before;
	__u64 n = s->n - was.n, mean = n ? (s->ns - was.ns) / n : 0;
	__u32 channels = mean > slow_us * 1000 ? MANY : FEW;

	before = *s;
	if (s->n >= was.n && n >= SAMPLES && (channels == MANY || mean < fast_us * 1000))
		bpf_map_update_elem(&wanted, &zero, &channels, BPF_ANY);
	return 0;
}
