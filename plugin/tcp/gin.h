// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_TCP_GIN_H
#define NB_PLUGIN_TCP_GIN_H

#include <assert.h>
#include <pthread.h>

#include "plugin/gin/calls.h"
#include "plugin/tcp/tcp.h"

/*
 * GIN over TCP. Each pair of ranks of a collComm shares one TCP connection,
 * used in both directions. The stream keeps puts and signals in order. Incoming
 * headers are checked before any byte is written to memory.
 */

/*
 * Kinds of messages: those of NCCL's operations (enum nb_gin_kind) except a
 * flush, which sends none, and these.
 */
enum nb_gin_message_kind {
	NB_GIN_ANSWER = NB_GIN_FLUSH + 1, /* the data of a peer's get */
	NB_GIN_REGION,			  /* tells the peer that a region was registered */
	NB_GIN_GOODBYE,			  /* the last message on a connection */
	NB_GIN_NKINDS
};

/*
 * Header of a message, in host byte order. A peer of another byte order is
 * recognised by its wrong magic number. Regions are named by their registration
 * number, which is the same on all ranks of the collComm.
 */
struct nb_gin_head {
	uint32_t magic;
	uint32_t number; /* number of the message on its connection, from 0 */
	uint8_t kind, signal_op;
	uint16_t zero;
	/* numbers of registered regions; NB_GIN_NO_REGION: none */
	uint32_t region, signal_region;
	uint32_t context;
	uint64_t offset, size;
	uint64_t signal_offset, value;
};
static_assert(sizeof(struct nb_gin_head) == 56, "no padding");
enum { NB_GIN_MAGIC = 0x6e62676e };

/* An operation of NCCL, or a message of our own, on its way to a peer. */
struct nb_gin_message {
	union {
		struct {
			NB_GIN_WORDS;
		};
		struct nb_gin_words words;
	};
	enum nb_gin_state state;
	int error;
	/* next message in the one queue that holds it */
	struct nb_gin_message *next;
	char *data;
	uint64_t moved; /* number of bytes of header and data sent so far */
	struct nb_gin_head head;
};

/* Returns how many offences of this kind the process has counted. */
uint64_t nb_gin_tcp_offences(enum nb_gin_offence what);

/* Settings, which the first init reads from the environment. */
struct nb_gin_tcp_conf {
	/* time without progress after which a peer is stalled */
	uint64_t stall_ns;
	/* time within which connect must reach all ranks */
	uint64_t connect_ns;
	/* time for sending queued data when a collComm closes */
	uint64_t close_ns;
	int queue; /* number of operations for each context and peer */
};
extern struct nb_gin_tcp_conf nb_gin_tcp_conf;

enum { NB_GIN_CHUNK = 256, NB_GIN_CHUNKS = 1024 };

struct nb_gin_region {
	char *base;
	uint64_t size;
	uint32_t number;
	bool open; /* accessed atomically */
};

/*
 * Regions of registered memory. A region keeps its address until its chunk is
 * freed. A chunk is freed once all of its regions are closed and the data path
 * has left them.
 */
struct nb_gin_regions {
	/* lock of the threads that register or deregister */
	pthread_mutex_t lock;
	/* number that the next region gets; accessed atomically */
	uint32_t next;
	struct nb_gin_chunk {
		/* numbers of regions, protected by the lock above */
		uint32_t used, closed;
		struct nb_gin_region region[NB_GIN_CHUNK];
	} * chunk[NB_GIN_CHUNKS]; /* accessed atomically */
	/* counter that is odd while the data path runs; accessed atomically */
	uint64_t epoch;
};

void nb_gin_regions_init(struct nb_gin_regions *t);
void nb_gin_regions_fini(struct nb_gin_regions *t);
int nb_gin_regions_add(struct nb_gin_regions *t, const struct nb_gin_memory *m, void **handle);
/* Close a region. Waits until the data path no longer uses it. */
int nb_gin_regions_remove(struct nb_gin_regions *t, void *handle);
/*
 * Returns the open region with this number, or NULL. The data path calls it
 * between nb_gin_enter and nb_gin_leave.
 */
const struct nb_gin_region *nb_gin_region(const struct nb_gin_regions *t, uint32_t number);
uint32_t nb_gin_region_number(void *handle);
void *nb_gin_region_handle(uint32_t number);

/*
 * Marks the data path as running: a region found open stays valid until
 * nb_gin_leave.
 */
static inline void nb_gin_enter(struct nb_gin_regions *t)
{
	__atomic_fetch_add(&t->epoch, 1, __ATOMIC_SEQ_CST);
}

static inline void nb_gin_leave(struct nb_gin_regions *t)
{
	__atomic_fetch_add(&t->epoch, 1, __ATOMIC_RELEASE);
}

enum { NB_GIN_AHEAD = 1 << 16, NB_GIN_MAX_GETS = 1 << 16 };

enum nb_gin_peer_state {
	NB_GIN_OPEN,
	NB_GIN_CLOSED, /* the peer has sent a goodbye message */
	NB_GIN_STALLED,
	NB_GIN_LOST
};

struct nb_gin_queue {
	struct nb_gin_message *first, *last;
};

struct nb_gin_peer {
	int fd; /* socket, or -1 if there is no connection */
	uint32_t rank;
	/*
	 * state of the connection (enum nb_gin_peer_state); accessed atomically
	 */
	uint32_t state;
	/*
	 * the peer's offence (enum nb_gin_offence) or -1; accessed atomically
	 */
	int offence;
	union nb_tcp_addr addr;
	/* The fields below belong to the sending side. */
	struct nb_gin_queue queue;
	/* operation that sends a region announcement or the goodbye */
	struct nb_gin_message notice;
	uint32_t sent;	       /* number of messages queued for the peer so far */
	uint32_t announced;    /* number of regions announced to the peer so far */
	uint64_t queued_bytes; /* accessed atomically */
	/* time at which data stopped moving; 0: data moved at the last check */
	uint64_t moved_ns;
	uint32_t idle;
	/* The fields below belong to the receiving side. */
	uint32_t received; /* number of messages received from the peer */
	/*
	 * the log already has a warning that the peer's region has another size
	 */
	bool mismatch;
	struct nb_gin_head in;
	size_t head_got;
	uint32_t since_large; /* messages received since the last large one */
	uint64_t body_got;
	char *body;
	struct nb_gin_queue gets;		/* our gets that the peer has not answered */
	uint32_t answers;			/* number of answers queued for the peer's gets */
	uint64_t in_puts, in_signals, in_bytes; /* accessed atomically */
	uint64_t since_puts, since_bytes, since_ns;
};

struct nb_gin_tcp {
	int nranks, rank;
	int epoll; /* epoll descriptor; -1: few peers, all are polled in turn */
	/* first error that any peer's connection had; accessed atomically */
	int error;
	bool only_sent; /* the last call of progress only sent */
	struct nb_gin_regions regions;
	/* called after each applied signal; may be NULL */
	nb_gin_arrived *arrived;
	void *arg;
	struct nb_gin_message *spare; /* list of free messages */
	struct message_block *blocks;
	uint64_t comm_id;
	struct nb_gin_peer *peer; /* array of the collComm's nranks peers */
	char ahead[NB_GIN_AHEAD];
};

/*
 * Connect to all peers of @c. Returns an error when the time limit is reached.
 */
int nb_gin_tcp_join(struct nb_gin_tcp *c, const struct nb_gin_mesh *mesh);

/*
 * Start an operation, which the caller keeps until its state is no longer
 * NB_GIN_POSTED.
 */
int nb_gin_tcp_post(struct nb_gin_tcp *c, struct nb_gin_message *op);

void nb_gin_enqueue(struct nb_gin_peer *p, struct nb_gin_message *op);
/* Send queued messages until the socket's buffer is full. */
void nb_gin_send(struct nb_gin_tcp *c, struct nb_gin_peer *p);
/*
 * Queue the next region announcement for @p, if a region is not yet announced.
 */
void nb_gin_announce(struct nb_gin_tcp *c, struct nb_gin_peer *p);
void nb_gin_goodbye(struct nb_gin_peer *p);
/* Returns a message, all zero, or NULL if there is no memory. */
struct nb_gin_message *nb_gin_message_new(struct nb_gin_tcp *c);
void nb_gin_message_free(struct nb_gin_tcp *c, struct nb_gin_message *op);
/* Free the memory of all messages. */
void nb_gin_messages_free(struct nb_gin_tcp *c);
/*
 * Mark the connection as lost for reason @why, log it, and fail its operations.
 * The next post to any rank fails, too.
 */
void nb_gin_lose(struct nb_gin_tcp *c, struct nb_gin_peer *p, const char *why);

/*
 * Read and apply a peer's messages, up to a limit of bytes. Returns true if
 * more bytes may wait.
 */
bool nb_gin_receive(struct nb_gin_tcp *c, struct nb_gin_peer *p);
/*
 * Apply a put or signal that this rank sends to itself. Returns 0 or
 * NB_NET_ARGUMENT.
 */
int nb_gin_apply_self(struct nb_gin_tcp *c, struct nb_gin_message *op);

#endif
