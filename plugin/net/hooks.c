// SPDX-License-Identifier: MIT
// Contexts of the hooks net/... from what we keep of NCCL's objects.
#include "plugin/net/hooks.h"

#include "core/defs/ctx.h"
#include "plugin/runtime/clock.h"

void nb_net_run_listen(const struct nb_net_conn *c)
{
	struct ncclbpf_net_listen ctx = {
		.comm_id = c->comm_id,
		.now_ns = nb_clock_ns(),
		.conn = c->id,
		.dev = c->dev,
		.speed = c->speed,
	};

	nb_events_run(NB_HOOK_NET_LISTEN, &ctx, sizeof(ctx));
}

int nb_net_run_connect(const struct nb_net_conn *c, bool done)
{
	uint64_t now = nb_clock_ns();
	struct ncclbpf_net_connect ctx = {
		.comm_id = c->comm_id,
		.now_ns = now,
		.ns = done ? now - c->born_ns : 0,
		.conn = c->id,
		.peer = c->peer.address,
		.link = c->peer.link,
		.dev = c->dev,
		.speed = c->speed,
		.done = done,
		.traffic_class = NB_NET_CLASS_NONE,
	};

	nb_events_run(NB_HOOK_NET_CONNECT, &ctx, sizeof(ctx));
	return ctx.traffic_class;
}

void nb_net_run_accept(const struct nb_net_conn *c, uint64_t since)
{
	uint64_t now = nb_clock_ns();
	struct ncclbpf_net_accept ctx = {
		.comm_id = c->comm_id,
		.now_ns = now,
		.ns = now - since,
		.conn = c->id,
		.peer = c->peer.address,
		.link = c->peer.link,
		.listener = c->listener,
		.dev = c->dev,
		.speed = c->speed,
	};

	nb_events_run(NB_HOOK_NET_ACCEPT, &ctx, sizeof(ctx));
}

static void run_isend(const struct nb_net_request *r)
{
	const struct nb_net_conn *c = r->conn;
	struct ncclbpf_net_isend ctx = {
		.comm_id = c->comm_id,
		.now_ns = r->start_ns,
		.conn = c->id,
		.peer = c->peer.address,
		.link = c->peer.link,
		.bytes = r->bytes,
		.request = r->number,
		.tag = r->tag,
		.outstanding = c->outstanding,
		.dev = c->dev,
		.speed = c->speed,
	};

	nb_events_run(NB_HOOK_NET_ISEND, &ctx, sizeof(ctx));
}

static void run_irecv(const struct nb_net_request *r)
{
	const struct nb_net_conn *c = r->conn;
	struct ncclbpf_net_irecv ctx = {
		.comm_id = c->comm_id,
		.now_ns = r->start_ns,
		.conn = c->id,
		.peer = c->peer.address,
		.link = c->peer.link,
		.bytes = r->bytes,
		.request = r->number,
		.tag = r->tag,
		.outstanding = c->outstanding,
		.dev = c->dev,
		.speed = c->speed,
		.buffers = r->buffers,
	};

	nb_events_run(NB_HOOK_NET_IRECV, &ctx, sizeof(ctx));
}

void nb_net_run_posted(struct nb_net_request *r)
{
	r->start_ns = nb_clock_ns();
	if (r->kind == NB_NET_SEND && nb_events_hooked(NB_HOOK_NET_ISEND))
		run_isend(r);
	else if (r->kind == NB_NET_RECV && nb_events_hooked(NB_HOOK_NET_IRECV))
		run_irecv(r);
}

void nb_net_run_test(const struct nb_net_request *r, int error)
{
	const struct nb_net_conn *c = r->conn;
	uint64_t now = nb_clock_ns();
	struct ncclbpf_net_test ctx = {
		.comm_id = c->comm_id,
		.now_ns = now,
		.ns = r->start_ns ? now - r->start_ns : 0,
		.conn = c->id,
		.peer = c->peer.address,
		.link = c->peer.link,
		.bytes = r->bytes,
		.request = r->number,
		.tag = r->tag,
		.outstanding = c->outstanding,
		.polls = r->polls,
		.kind = r->kind,
		.dev = c->dev,
		.speed = c->speed,
		.error = error,
	};

	nb_events_run(NB_HOOK_NET_TEST, &ctx, sizeof(ctx));
}

void nb_net_run_close(const struct nb_net_conn *c)
{
	uint64_t now = nb_clock_ns();
	struct ncclbpf_net_close ctx = {
		.comm_id = c->comm_id,
		.now_ns = now,
		.ns = now - c->born_ns,
		.conn = c->id,
		.peer = c->peer.address,
		.link = c->peer.link,
		.bytes = c->bytes,
		.requests = c->requests,
		.errors = c->errors,
		.outstanding = c->outstanding,
		.kind = c->kind,
		.dev = c->dev,
	};

	nb_events_run(NB_HOOK_NET_CLOSE, &ctx, sizeof(ctx));
}
