// SPDX-License-Identifier: MIT
/*
 * qp_tune sets the values of a connection that this end decides alone. The
 * values come from a map, which the operator changes while the job runs. Queue
 * pairs that NCCL creates later use them. If the adapter refuses a value,
 * NCCL's own value is used.
 *
 *	ncclbpf-shell map set tune 0 '{"traffic_class": 105, "timeout": 20,
 *	...}'
 */
#include "ncclbpf_policy.h"

struct tune {
	__s32 traffic_class, sl, timeout, retry_cnt, rnr_retry, min_rnr_timer;
	__u32 on; /* 0: keep all of NCCL's values */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct tune);
} tune SEC(".maps");

SEC("verbs/qp")
int on_qp(struct ncclbpf_verbs_qp *ctx)
{
	__u32 zero = 0;
	struct tune *t = bpf_map_lookup_elem(&tune, &zero);

	if (!t || !t->on || ctx->phase != 1)
		return 0;
	if (ctx->to == 2) {
		ctx->traffic_class = t->traffic_class;
		ctx->sl = t->sl;
		ctx->min_rnr_timer = t->min_rnr_timer;
	}
	if (ctx->to == 3) {
		ctx->timeout = t->timeout;
		ctx->retry_cnt = t->retry_cnt;
		ctx->rnr_retry = t->rnr_retry;
	}
	return 0;
}
