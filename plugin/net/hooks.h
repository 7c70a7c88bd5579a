// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_NET_HOOKS_H
#define NB_PLUGIN_NET_HOOKS_H

#include "core/spec/spec.h"
#include "plugin/net/extension.h"
#include "plugin/net/transport.h"
#include "plugin/hooks/hooks.h"
#include "plugin/runtime/open_list.h"

/*
 * Net objects (context, connection, request), and one function for each net/...
 * hook. Callers check nb_hooks_on first, so a hook without programs costs
 * one load.
 */
enum { NB_NET_REQUESTS = 128 };

enum nb_net_kind { NB_NET_RECV, NB_NET_SEND, NB_NET_LISTENER };

/* Context that init returns to NCCL for a communicator. */
struct nb_net_ctx {
	void *inner;
	uint64_t comm_id;
	int traffic_class;
};

struct nb_net_conn;

/* A request of a connection, to which NCCL holds a pointer. */
struct nb_net_request {
	void *inner; /* the transport's request; NULL: this entry is free */
	struct nb_net_conn *conn;
	uint64_t number, bytes;
	uint64_t start_ns; /* time of NCCL's call; 0 if no program needed it */
	uint32_t kind;	   /* kind of the request (enum nb_net_kind); 2: a flush */
	uint32_t tag, polls, buffers;
	bool busy, failed;
};

/* A connection or listener. One thread uses its data path. */
struct nb_net_conn {
	void *inner;
	enum nb_net_kind kind;
	uint32_t dev, speed;
	uint64_t comm_id, id, listener, born_ns;
	struct nb_net_peer peer;
	/* atomic counters, which the readers of list.h read */
	uint64_t requests, bytes;
	uint32_t outstanding, errors;
	/* link of the connection in the list of list.c */
	struct nb_open_link open;
	/* requests of the connection; a listener has none */
	struct nb_net_request request[];
};

void nb_net_run_listen(const struct nb_net_conn *c);
/*
 * Run the programs of net/connect. Returns the traffic class that a program
 * chose, or NB_NET_CLASS_NONE.
 */
int nb_net_run_connect(const struct nb_net_conn *c, bool done);
void nb_net_run_accept(const struct nb_net_conn *c, uint64_t since);
/* Run the programs of a posted request. Sets @r's start_ns if it is 0. */
void nb_net_run_posted(struct nb_net_request *r);
void nb_net_run_test(const struct nb_net_request *r, int error);
void nb_net_run_close(const struct nb_net_conn *c);

#endif
