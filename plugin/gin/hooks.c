// SPDX-License-Identifier: MIT
/* Fills the contexts of the hooks gin/... from the objects of plugin/gin. */
#include "plugin/gin/hooks.h"

#include "core/defs/ctx.h"
#include "plugin/net/list.h"
#include "plugin/runtime/clock.h"

/* Initialise the fields that all GIN hook contexts have in common. */
#define COLL(c)                                                                \
	.comm_id = (c)->comm_id, .coll = (c)->id, .rank = (uint32_t)(c)->rank, \
	.nranks = (uint32_t)(c)->nranks

int nb_gin_run_connect(const struct nb_gin_coll *c, bool done)
{
	uint64_t now = nb_clock_system();
	struct ncclbpf_gin_connect ctx = {
		COLL(c),	   .now_ns = now, .ns = done ? now - c->born_ns : 0,  .dev = c->dev,
		.speed = c->speed, .done = done,  .traffic_class = NB_NET_CLASS_NONE,
	};

	nb_hooks_run(NB_HOOK_GIN_CONNECT, &ctx, sizeof(ctx));
	return ctx.traffic_class;
}

static uint64_t signal_index(const struct nb_gin_op *op)
{
	return op->kind == NB_GIN_SIGNAL ? op->signal_off / 8 : NB_GIN_NO_INDEX;
}

uint64_t nb_gin_run_put(const struct nb_gin_coll *c, const struct nb_gin_op *op, uint64_t now,
			uint64_t behind_ns)
{
	const struct nb_gin_ops *ops = c->ops;
	struct ncclbpf_gin_put ctx = {
		COLL(c),
		.now_ns = now,
		.request = op->number,
		.bytes = op->size,
		.offset = op->dst_off,
		.signal = signal_index(op),
		.value = op->signal_op == NB_GIN_INCREMENT ? 1 : op->value,
		.queued_bytes = ops->queued ? ops->queued(c->inner, op->rank) : 0,
		.behind_ns = behind_ns,
		.context = op->context,
		.peer = op->rank,
		.region = ops->region ? ops->region(op->dst) : NB_GIN_NO_REGION,
		.op = op->signal_op,
		.outstanding = NB_NET_COUNTED(c->peer[op->rank].outstanding),
		.more = op->flags & NB_GIN_MORE,
	};

	nb_hooks_run(NB_HOOK_GIN_PUT, &ctx, sizeof(ctx));
	return ctx.hold_ns < NB_GIN_MAX_HOLD_NS ? ctx.hold_ns : NB_GIN_MAX_HOLD_NS;
}

void nb_gin_run_done(const struct nb_gin_coll *c, const struct nb_gin_op *op, int error)
{
	uint64_t now = nb_clock_system();
	struct ncclbpf_gin_done ctx = {
		COLL(c),
		.now_ns = now,
		.request = op->number,
		.bytes = op->size,
		.ns = op->post_ns ? now - op->post_ns : 0,
		.held_ns =
			op->release_ns && op->sent_ns > op->post_ns ? op->sent_ns - op->post_ns : 0,
		.context = op->context,
		.peer = op->rank,
		.outstanding = NB_NET_COUNTED(c->peer[op->rank].outstanding),
		.polls = op->polls,
		.kind = op->kind,
		.error = error,
	};

	nb_hooks_run(NB_HOOK_GIN_DONE, &ctx, sizeof(ctx));
}

void nb_gin_run_signal(const struct nb_gin_coll *c, const struct nb_gin_arrival *a)
{
	uint64_t now = nb_clock_system();
	struct ncclbpf_gin_signal ctx = {
		COLL(c),
		.now_ns = now,
		.signal = a->offset / 8,
		.value = a->value,
		.puts = a->puts,
		.bytes = a->bytes,
		.ns = a->since_ns && now > a->since_ns ? now - a->since_ns : 0,
		.peer = a->rank,
		.region = a->region,
		.op = a->op,
	};

	nb_hooks_run(NB_HOOK_GIN_SIGNAL, &ctx, sizeof(ctx));
}

void nb_gin_run_close(const struct nb_gin_coll *c)
{
	const struct nb_gin_ops *ops = c->ops;
	uint64_t now = nb_clock_system();
	struct ncclbpf_gin_close ctx = { COLL(c), .now_ns = now, .ns = now - c->born_ns };

	for (int r = 0; r < c->nranks; r++) {
		const struct nb_gin_counts *p = &c->peer[r];
		struct nb_gin_link l = { .in_puts = 0 };

		if (ops->link)
			ops->link(c->inner, (uint32_t)r, &l);
		ctx.puts += p->puts;
		ctx.signals += p->signals;
		ctx.gets += p->gets;
		ctx.bytes += p->bytes;
		ctx.held += p->held;
		ctx.errors += p->errors;
		ctx.outstanding += p->outstanding;
		ctx.in_puts += l.in_puts;
		ctx.in_signals += l.in_signals;
		ctx.in_bytes += l.in_bytes;
	}
	nb_hooks_run(NB_HOOK_GIN_CLOSE, &ctx, sizeof(ctx));
}
