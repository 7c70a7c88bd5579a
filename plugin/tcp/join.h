// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_TCP_JOIN_H
#define NB_PLUGIN_TCP_JOIN_H

#include <assert.h>

#include "plugin/tcp/tcp.h"

/*
 * How two ranks get a TCP connection, for net and for GIN. One has a door: a
 * port whose secret number only its handle contains. The other dials: it
 * connects and sends the number. Nothing here waits.
 */

/* Contents of NCCL's 128-byte connection handle. */
struct nb_tcp_handle {
	uint64_t magic, cookie;
	uint16_t family, port; /* TCP port in network byte order */
	uint32_t version;
	uint8_t addr[16];
	/* a pending connect of net; NULL at first */
	void *state;
};

/*
 * First message of the dialling side. If nranks is not zero, the door's side
 * answers with the same message and its own rank. A peer of another byte order
 * is recognised by its wrong magic number.
 */
struct nb_tcp_hello {
	uint64_t magic, cookie;
	uint64_t link; /* random number of the connection */
	uint32_t version;
	/* rank and size of a GIN collComm; zero for net */
	uint32_t rank, nranks, zero;
};
#define NB_TCP_HELLO_MAGIC UINT64_C(0x6e63636c62706631)
#define NB_TCP_HANDLE_MAGIC UINT64_C(0x6e63636c62706668)
/* Both ends must have the same version, and with it the same layouts. */
enum { NB_TCP_VERSION = 2 };
static_assert(sizeof(struct nb_tcp_hello) == 40 && NB_TCP_VERSION == 2,
	      "a hello of another size is another version");

/* A connection that is being made from this side. */
struct nb_tcp_dial {
	int fd;		/* -1: none, the next try is at `again` */
	bool connected; /* the TCP connection is established */
	int traffic_class;
	uint64_t again, deadline;
	/* bytes of the hello sent, and bytes of the answer received so far */
	size_t said, heard;
	struct nb_tcp_hello hello, answer;
	union nb_tcp_addr to;
};

/*
 * nb_tcp_dial_open - prepare to connect to the door of a handle
 *
 * Returns false if the handle is not one of ours.
 */
bool nb_tcp_dial_open(struct nb_tcp_dial *d, const struct nb_tcp_handle *h, int traffic_class,
		      uint64_t patience_ns);
/*
 * Continue. Returns 0 if the connection is made, EAGAIN if not yet, or the
 * errno of its failure. A refusal is tried again until the deadline. A connect
 * that is pending waits as long as the kernel does: the queue of a slow peer may
 * be full.
 */
int nb_tcp_dial_step(struct nb_tcp_dial *d);
void nb_tcp_dial_close(struct nb_tcp_dial *d);

/* A peer that has connected but has not yet identified itself. */
struct nb_tcp_guest {
	int fd;
	uint64_t came;
	size_t heard;
	struct nb_tcp_hello hello;
	union nb_tcp_addr from;
};

enum { NB_TCP_GUESTS = 64 };

struct nb_tcp_door {
	int fd;
	uint64_t cookie;
	/*
	 * our rank in the collComm, and its number of ranks: only lower ranks
	 * may connect. Both are 0 for net.
	 */
	uint32_t rank, nranks;
	unsigned n;
	/* peers that have not identified themselves, the oldest first */
	struct nb_tcp_guest guest[NB_TCP_GUESTS];
};

/* Listen on a free port of a device and fill its handle. Returns an errno. */
int nb_tcp_door_open(struct nb_tcp_door *d, const struct nb_tcp_dev *dev, struct nb_tcp_handle *h);
void nb_tcp_door_close(struct nb_tcp_door *d);
/*
 * nb_tcp_door_take - take a peer that has identified itself
 * @g: set to the peer, whose socket then belongs to the caller; -1: none yet
 *
 * Other peers are dropped and counted; they delay nobody. Returns 0 or the
 * errno of accept(2).
 */
int nb_tcp_door_take(struct nb_tcp_door *d, struct nb_tcp_guest *g);

/* A door for NCCL's connections, and what they inherit. */
struct nb_tcp_listener {
	struct nb_tcp_door door;
	uint64_t comm_id;  /* of GIN */
	int traffic_class; /* of net */
};

/*
 * Listen on a device and fill NCCL's handle. @what: net or gin, for messages. Returns one of
 * NCCL's results; on failure *@to is NULL.
 */
int nb_tcp_listen(struct nb_tcp_listener **to, const char *what, const struct nb_tcp_dev *dev,
		  void *handle);
/* Close a listener of NCCL, or NULL; always succeeds. */
int nb_tcp_close_listen(void *listen_comm);

/* Set the traffic class of a socket, unless @traffic_class is no class. */
void nb_tcp_set_class(int fd, int traffic_class);
/*
 * Send (@out) or receive the bytes of @at from position *@moved. Returns 1 if
 * all bytes are moved, 0 if the socket would block, -1 on failure with errno
 * set.
 */
int nb_tcp_move(int fd, void *at, size_t size, size_t *moved, bool out);

#endif
