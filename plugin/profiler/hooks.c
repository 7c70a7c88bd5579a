// SPDX-License-Identifier: MIT
/* Fills the contexts of the profiler's hooks from samples and event slots. */
#include "plugin/profiler/hooks.h"

#include "core/defs/ctx.h"
#include "plugin/profiler/decided.h"
#include "plugin/runtime/relaxed.h"

static uint32_t byte_at(uint64_t what, int bit)
{
	return (uint32_t)(what >> bit) & 255;
}

enum { SEND = 6 }; /* number of the function (core/defs/profiler.h) */

/*
 * Convert a number of an algorithm or protocol: NB_WORD_NONE and
 * NB_WORD_SYMMETRIC become -1, because NCCL chose none.
 */
static int32_t word_or_none(uint32_t word)
{
	return word >= NB_WORD_SYMMETRIC ? -1 : (int32_t)word;
}

static uint32_t positive_or_0(int32_t n)
{
	return n > 0 ? (uint32_t)n : 0;
}

/* Put into context @c the decision that the collective ran with, if it is known. */
static void put_decision(struct ncclbpf_coll_done *c, const struct nb_decided *by)
{
	c->chosen_algo = c->chosen_proto = -1;
	if (!by->n)
		return;
	c->decision = by->n;
	c->generation = by->d.generation;
	c->chosen = by->d.by >= 0;
	c->chosen_algo = by->d.algo;
	c->chosen_proto = by->d.proto;
	c->chosen_channels = by->d.channels;
	c->chosen_chunk = by->d.chunk_size;
}

void nb_run_sample(const struct nb_pcomm *pc, const struct nb_op_slot *slot,
		   const struct nb_sample *s, bool p2p)
{
	if (p2p && nb_hooks_on(NB_HOOK_P2P_DONE)) {
		struct ncclbpf_p2p_done c = {
			.comm_id = s->comm_id,
			.bytes = s->bytes,
			.start_ns = s->start_ns,
			.enqueue_ns = s->ns[NB_TEL_ENQUEUE],
			.gpu_ns = s->ns[NB_TEL_KERNEL],
			.proxy_ns = s->ns[NB_TEL_NETWORK],
			.exec_ns = s->ns[NB_TEL_EXEC],
			.send = s->func == SEND,
			.peer = s->peer,
			.ranks = positive_or_0(s->ranks),
			.channels = s->channels,
			.rank = s->rank,
			.source = s->source,
			.tag = s->tag,
		};

		nb_hooks_run(NB_HOOK_P2P_DONE, &c, sizeof(c));
	} else if (!p2p && nb_hooks_on(NB_HOOK_COLL_DONE)) {
		struct ncclbpf_coll_done c = {
			.comm_id = s->comm_id,
			.seq = s->seq,
			.bytes = s->bytes,
			.start_ns = s->start_ns,
			.enqueue_ns = s->ns[NB_TEL_ENQUEUE],
			.gpu_ns = s->ns[NB_TEL_KERNEL],
			.proxy_ns = s->ns[NB_TEL_NETWORK],
			.exec_ns = s->ns[NB_TEL_EXEC],
			.coll = s->func,
			.ranks = positive_or_0(s->ranks),
			.nodes = positive_or_0(s->nodes),
			.channels = s->channels,
			.algo = word_or_none(s->algo),
			.proto = word_or_none(s->proto),
			.rank = s->rank,
			.source = s->source,
			.tag = s->tag,
		};
		struct nb_decided_task task = { s->func, s->algo, s->proto, s->bytes };
		struct nb_decided by;

		nb_decided_of(pc, slot, &task, &by);
		put_decision(&c, &by);
		nb_hooks_run(NB_HOOK_COLL_DONE, &c, sizeof(c));
	}
}

static void run_kernel(const struct nb_pcomm *pc, const struct nb_child_slot *c,
		       const struct nb_op_slot *task, uint64_t now)
{
	uint64_t what = task ? GET(task->what) : UINT64_MAX;
	uint64_t from = GET(c->timer), to = GET(c->timer_stop);
	struct ncclbpf_kernel_ch ctx = {
		.comm_id = GET(pc->comm_id),
		.seq = task ? GET(task->seq) : 0,
		.bytes = task ? GET(task->bytes) : 0,
		.start_ns = GET(c->start),
		.cpu_ns = now - GET(c->start),
		.gpu_start = from,
		.gpu_ns = to > from ? to - from : 0,
		.func = byte_at(what, W_FUNC),
		.channel = byte_at(GET(c->what), C_CHANNEL),
		.algo = word_or_none(byte_at(what, W_ALGO)),
		.proto = word_or_none(byte_at(what, W_PROTO)),
		.rank = GET(pc->rank),
		.ranks = positive_or_0(GET(pc->ranks)),
	};

	nb_hooks_run(NB_HOOK_KERNEL_CH, &ctx, sizeof(ctx));
}

static void run_step(const struct nb_pcomm *pc, const struct nb_child_slot *c,
		     const struct nb_child_slot *op, const struct nb_op_slot *task, uint64_t now)
{
	uint64_t what = op ? GET(op->what) : UINT64_MAX;
	struct ncclbpf_proxy_step ctx = {
		.comm_id = GET(pc->comm_id),
		.bytes = GET(c->bytes),
		.start_ns = GET(c->start),
		.ns = now - GET(c->start),
		.gpu_wait_ns = GET(c->waits[0]),
		.peer_wait_ns = GET(c->waits[1]),
		.net_wait_ns = GET(c->waits[2]),
		.flush_wait_ns = GET(c->waits[3]),
		.func = task ? byte_at(GET(task->what), W_FUNC) : NB_WORD_NONE,
		.channel = byte_at(what, C_CHANNEL),
		.step = (uint32_t)(GET(c->what) >> C_STEP),
		.send = op ? what >> C_SEND & 1 : 0,
		.peer = op ? (int32_t)GET(op->peer) : -1,
		.rank = GET(pc->rank),
	};

	nb_hooks_run(NB_HOOK_PROXY_STEP, &ctx, sizeof(ctx));
}

static void run_group(const struct nb_pcomm *pc, const struct nb_child_slot *c, uint64_t now)
{
	struct ncclbpf_group ctx = {
		.comm_id = GET(pc->comm_id),
		.start_ns = GET(c->start),
		.ns = now - GET(c->start),
		.rank = GET(pc->rank),
		.ranks = positive_or_0(GET(pc->ranks)),
	};

	nb_hooks_run(NB_HOOK_GROUP, &ctx, sizeof(ctx));
}

void nb_run_child(const struct nb_pcomm *pc, const struct nb_child_slot *c,
		  const struct nb_child_slot *op, const struct nb_op_slot *task, uint64_t now)
{
	switch (byte_at(GET(c->what), C_KIND)) {
	case NB_EVENT_KERNEL_CH:
		if (nb_hooks_on(NB_HOOK_KERNEL_CH))
			run_kernel(pc, c, task, now);
		break;
	case NB_EVENT_PROXY_STEP:
		if (nb_hooks_on(NB_HOOK_PROXY_STEP))
			run_step(pc, c, op, task, now);
		break;
	case NB_EVENT_GROUP:
		if (nb_hooks_on(NB_HOOK_GROUP))
			run_group(pc, c, now);
		break;
	}
}
