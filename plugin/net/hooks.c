// SPDX-License-Identifier: MIT
/* Fills the contexts of the hooks net/... from the objects of plugin/net. */
#include "plugin/net/hooks.h"

#include "core/defs/ctx.h"
#include "plugin/runtime/clock.h"

/*
 * Initialisers of the fields that all net contexts, those with a peer, and
 * those of requests have.
 */
#define CONN(c) .comm_id = (c)->comm_id, .conn = (c)->id, .dev = (c)->dev
#define PEER(c) CONN(c), .peer = (c)->peer.address, .link = (c)->peer.link
#define REQUEST(r)                                                                               \
	PEER((r)->conn), .speed = (r)->conn->speed, .bytes = (r)->bytes, .request = (r)->number, \
			 .tag = (r)->tag, .outstanding = (r)->conn->outstanding

void nb_net_run_listen(const struct nb_net_conn *c)
{
	struct ncclbpf_net_listen ctx = { CONN(c), .now_ns = nb_clock_system(), .speed = c->speed };

	nb_hooks_run(NB_HOOK_NET_LISTEN, &ctx, sizeof(ctx));
}

int nb_net_run_connect(const struct nb_net_conn *c, bool done)
{
	uint64_t now = nb_clock_system();
	struct ncclbpf_net_connect ctx = {
		PEER(c),	   .now_ns = now, .ns = done ? now - c->born_ns : 0,
		.speed = c->speed, .done = done,  .traffic_class = NB_NET_CLASS_NONE,
	};

	nb_hooks_run(NB_HOOK_NET_CONNECT, &ctx, sizeof(ctx));
	return ctx.traffic_class;
}

void nb_net_run_accept(const struct nb_net_conn *c, uint64_t since)
{
	uint64_t now = nb_clock_system();
	struct ncclbpf_net_accept ctx = {
		PEER(c),	   .now_ns = now, .ns = now - since, .listener = c->listener,
		.speed = c->speed,
	};

	nb_hooks_run(NB_HOOK_NET_ACCEPT, &ctx, sizeof(ctx));
}

void nb_net_run_posted(struct nb_net_request *r)
{
	if (!r->start_ns) /* no program was attached when NCCL made the call */
		r->start_ns = nb_clock_system();
	if (r->kind == NB_NET_SEND && nb_hooks_on(NB_HOOK_NET_ISEND)) {
		struct ncclbpf_net_isend ctx = { REQUEST(r), .now_ns = r->start_ns };

		nb_hooks_run(NB_HOOK_NET_ISEND, &ctx, sizeof(ctx));
	}
	if (r->kind == NB_NET_RECV && nb_hooks_on(NB_HOOK_NET_IRECV)) {
		struct ncclbpf_net_irecv ctx = { REQUEST(r), .now_ns = r->start_ns,
						 .buffers = r->buffers };

		nb_hooks_run(NB_HOOK_NET_IRECV, &ctx, sizeof(ctx));
	}
}

void nb_net_run_test(const struct nb_net_request *r, int error)
{
	uint64_t now = nb_clock_system();
	struct ncclbpf_net_test ctx = {
		REQUEST(r),	   .now_ns = now,   .ns = r->start_ns ? now - r->start_ns : 0,
		.polls = r->polls, .kind = r->kind, .error = error,
	};

	nb_hooks_run(NB_HOOK_NET_TEST, &ctx, sizeof(ctx));
}

void nb_net_run_close(const struct nb_net_conn *c)
{
	uint64_t now = nb_clock_system();
	struct ncclbpf_net_close ctx = {
		PEER(c),
		.now_ns = now,
		.ns = now - c->born_ns,
		.bytes = c->bytes,
		.requests = c->requests,
		.errors = c->errors,
		.outstanding = c->outstanding,
		.kind = c->kind,
	};

	nb_hooks_run(NB_HOOK_NET_CLOSE, &ctx, sizeof(ctx));
}
