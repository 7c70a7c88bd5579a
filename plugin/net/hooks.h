// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_NET_HOOKS_H
#define NB_PLUGIN_NET_HOOKS_H

#include "core/spec/spec.h"
#include "plugin/net/net.h"
#include "plugin/profiler/hooks.h"

/*
 * What the hooks net/... are told: NCCL's objects as we keep them, and one
 * function a hook. The functions are called only where the hook has programs
 * (nb_events_hooked): the rest costs one load.
 */
enum { NB_NET_REQUESTS = 128 };

enum nb_net_kind { NB_NET_RECV, NB_NET_SEND, NB_NET_LISTENER };

/* A communicator's init; the context that NCCL holds. */
struct nb_net_ctx {
	void *inner;
	uint64_t comm_id;
	int traffic_class;
};

struct nb_net_conn;

/* A request: what NCCL holds of it. */
struct nb_net_request {
	void *inner; /* NULL: the place is free */
	struct nb_net_conn *conn;
	uint64_t number, bytes;
	uint64_t start_ns; /* 0: nobody asked when it was posted */
	uint32_t kind;	   /* enum nb_net_kind; 2: a flush */
	uint32_t tag, polls, buffers;
	bool busy, failed;
};

/* A connection or listener. Its data path has one thread. */
struct nb_net_conn {
	void *inner;
	enum nb_net_kind kind;
	uint32_t dev, speed;
	uint64_t comm_id, id, listener, born_ns;
	struct nb_net_peer peer;
	/* counted while the connection lives; atomic, for readers: list.h
	 */
	uint64_t requests, bytes;
	uint32_t outstanding, errors;
	struct nb_net_conn *before, *behind; /* list.c's */
	bool listed;			     /* likewise */
	struct nb_net_request request[];     /* none of a listener */
};

void nb_net_run_listen(const struct nb_net_conn *c);
/* Returns the traffic class wanted; NB_NET_CLASS_NONE: no opinion. */
int nb_net_run_connect(const struct nb_net_conn *c, bool done);
void nb_net_run_accept(const struct nb_net_conn *c, uint64_t since);
/* Sets start_ns. */
void nb_net_run_posted(struct nb_net_request *r);
void nb_net_run_test(const struct nb_net_request *r, int error);
void nb_net_run_close(const struct nb_net_conn *c);

#endif
