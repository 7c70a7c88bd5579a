// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_NET_EXTENSION_H
#define NB_PLUGIN_NET_EXTENSION_H

#include <stdbool.h>
#include <stdint.h>

/*
 * What a net plugin may tell a plugin that wraps it, besides NCCL's interface:
 * a table that its library exports as NB_NET_EXTENSION. libnccl-net-tcp.so has
 * it. Without the table the hooks and the shell show less (docs/transports.md).
 */
#define NB_NET_EXTENSION "ncclbpfNetExtension_v1"

/* Events that are counted for the process. */
enum nb_net_count {
	/* connections dropped because the peer did not identify itself */
	NB_NET_STRANGERS,
	NB_NET_LATE,	/* connections dropped because they sent nothing in time */
	NB_NET_STALLS,	/* connections that made no progress for long */
	NB_NET_LOST,	/* connections that the peer closed too early */
	NB_NET_GARBAGE, /* connections on which invalid data arrived */
	/* connections with a message larger than the receive buffer */
	NB_NET_OVERSIZED,
	NB_NET_NCOUNTS
};

/* A description of a connection's peer. */
struct nb_net_peer {
	uint64_t address; /* hash of the peer's address; 0 if not known */
	uint64_t link;	  /* number that both ends share; 0 if not known */
	/* address of the peer as "address:port", or "" if it is not known */
	char text[64];
};

struct nb_net_extension {
	/* Describe the peer of a connection. */
	void (*peer)(void *comm, struct nb_net_peer *peer);
	/* Change the traffic class of a connection that connect has made. */
	void (*set_class)(void *send_comm, int traffic_class);
	uint64_t (*counted)(enum nb_net_count what);
	/*
	 * Write the plugin's log through @say, also that of a GIN plugin in the
	 * same library. Any thread may call @say. Called before any init.
	 */
	void (*log)(void (*say)(bool warn, const char *line));
};

#endif
