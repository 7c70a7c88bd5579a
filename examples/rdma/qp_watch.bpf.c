// SPDX-License-Identifier: MIT
/*
 * qp_watch records the life of each queue pair of NCCL's own InfiniBand
 * transport: the times when it reached the states INIT, RTR and RTS, the
 * duration of the calls that changed its state, and the failed calls.
 *
 *	ncclbpf-shell map dump qps
 */
#include "ncclbpf_policy.h"

enum { CREATED, BEFORE, AFTER, DESTROYED };
enum { INIT = 1, RTR = 2, RTS = 3 };

struct key {
	__u32 qp, device;
};

struct life {
	__u64 created_ns; /* time on CLOCK_MONOTONIC */
	/* time since created_ns; 0: not reached */
	__u64 init_ns, rtr_ns, rts_ns;
	__u64 changing_ns; /* inside ibv_modify_qp */
	__u64 gid;
	__u32 peer_qp, failed_changes;
	__u32 errors, last_status; /* completions that failed */
	__u32 events, destroyed;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, struct key);
	__type(value, struct life);
} qps SEC(".maps");

SEC("verbs/qp")
int on_qp(struct ncclbpf_verbs_qp *ctx)
{
	struct key key = { ctx->qp, ctx->device };
	struct life born = { .created_ns = ctx->now_ns }, *l;

	if (ctx->phase == CREATED)
		bpf_map_update_elem(&qps, &key, &born, BPF_ANY);
	l = bpf_map_lookup_elem(&qps, &key);
	if (!l)
		return 0;
	if (ctx->phase == DESTROYED)
		l->destroyed = 1;
	if (ctx->phase != AFTER)
		return 0;
	l->changing_ns += ctx->ns;
	if (ctx->error) {
		l->failed_changes++;
		return 0;
	}
	l->peer_qp = ctx->peer_qp;
	l->gid = ctx->gid;
	if (ctx->to == INIT)
		l->init_ns = ctx->now_ns - l->created_ns;
	if (ctx->to == RTR)
		l->rtr_ns = ctx->now_ns - l->created_ns;
	if (ctx->to == RTS)
		l->rts_ns = ctx->now_ns - l->created_ns;
	return 0;
}

SEC("verbs/done")
int on_done(struct ncclbpf_verbs_done *ctx)
{
	struct key key = { ctx->qp, ctx->device };
	struct life *l;

	if (!ctx->status)
		return 0;
	l = bpf_map_lookup_elem(&qps, &key);
	if (l) {
		l->errors++;
		l->last_status = ctx->status;
	}
	return 0;
}

SEC("verbs/event")
int on_event(struct ncclbpf_verbs_event *ctx)
{
	struct key key = { ctx->qp, ctx->device };
	struct life *l = bpf_map_lookup_elem(&qps, &key);

	if (l)
		l->events++;
	return 0;
}
