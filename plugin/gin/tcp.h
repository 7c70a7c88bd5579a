// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_GIN_TCP_H
#define NB_PLUGIN_GIN_TCP_H

#include <pthread.h>

#include "plugin/gin/transport.h"
#include "plugin/net/tcp.h"

/*
 * Our own GIN transport: one TCP connection for each pair of ranks of a
 * collComm, used both ways. The stream keeps the order of puts and signals.
 * Whatever arrives is checked before a byte is written. The files tcp_*.c share
 * this header; others use nb_gin_tcp_ops.
 */
extern const struct nb_gin_ops nb_gin_tcp_ops;

enum nb_gin_offence {
#define OFFENCE(name, word, text) NB_GIN_BAD_##name,
#include "core/defs/gin_offences.h"
	NB_GIN_NOFFENCES
};
const char *nb_gin_offence_word(enum nb_gin_offence what);
/* Counted in this process. */
uint64_t nb_gin_offences(enum nb_gin_offence what);

/* Set before init; the defaults are fine. */
struct nb_gin_tcp_conf {
	/* Log one line; @warn: as a warning. Any thread; may be NULL. */
	void (*say)(bool warn, const char *line);
	uint64_t stall_ns;   /* without progress until a peer is stalled */
	uint64_t connect_ns; /* for all ranks to connect */
	uint64_t close_ns;   /* to send what is queued at the end */
	int queue;	     /* operations per context and peer */
	int send_buffer;     /* bytes of a socket's buffer; 0: the system's */
};
extern struct nb_gin_tcp_conf nb_gin_tcp_conf;
void nb_gin_tcp_say(bool warn, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

enum { NB_GIN_CHUNK = 256, NB_GIN_CHUNKS = 1024 };

struct nb_gin_region {
	char *base;
	uint64_t size;
	uint32_t number;
	bool open; /* accessed atomically */
};

/*
 * Registered memory. A region keeps its address until its chunk is freed, when
 * all regions of the chunk are closed and the data path has left them.
 */
struct nb_gin_regions {
	pthread_mutex_t lock; /* for writers */
	uint32_t next;	      /* atomic: the next number */
	struct nb_gin_chunk {
		uint32_t used, closed; /* under the lock */
		struct nb_gin_region region[NB_GIN_CHUNK];
	} * chunk[NB_GIN_CHUNKS]; /* accessed atomically */
	uint64_t epoch;		  /* atomic: odd while the data path runs */
};

void nb_gin_regions_init(struct nb_gin_regions *t);
void nb_gin_regions_fini(struct nb_gin_regions *t);
int nb_gin_regions_add(struct nb_gin_regions *t, const struct nb_gin_memory *m,
		       void **handle);
/* Waits until the data path does not use the region. */
int nb_gin_regions_remove(struct nb_gin_regions *t, void *handle);
/* The open region with this number; NULL: none. Between enter and leave. */
const struct nb_gin_region *nb_gin_region(const struct nb_gin_regions *t,
					  uint32_t number);
uint32_t nb_gin_region_number(void *handle);
void *nb_gin_region_handle(uint32_t number);

/* The data path runs: a region found open stays until nb_gin_leave. */
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
	NB_GIN_CLOSED, /* it said goodbye */
	NB_GIN_STALLED,
	NB_GIN_LOST
};

struct nb_gin_queue {
	struct nb_gin_op *first, *last;
};

struct nb_gin_peer {
	int fd; /* -1: none */
	uint32_t rank;
	uint32_t state; /* atomic: enum nb_gin_peer_state */
	int offence;	/* atomic: enum nb_gin_offence; -1: none */
	union nb_tcp_addr addr;
	/* sending */
	struct nb_gin_queue queue;
	struct nb_gin_op notice; /* an announcement or goodbye */
	uint32_t sent;		 /* messages queued so far */
	uint32_t announced;	 /* regions */
	uint64_t queued_bytes;	 /* accessed atomically */
	uint64_t moved_ns;	 /* 0: progress since the last look */
	uint32_t idle;
	/* receiving */
	uint32_t received; /* messages */
	struct nb_gin_head in;
	size_t head_got;
	uint32_t since_large; /* messages since one with much data */
	uint64_t body_got;
	char *body;
	struct nb_gin_queue gets;		/* sent, without answer */
	uint32_t answers;			/* queued */
	uint64_t in_puts, in_signals, in_bytes; /* accessed atomically */
	uint64_t since_puts, since_bytes, since_ns;
};

struct nb_gin_tcp {
	int nranks, rank;
	int epoll;	/* -1: few peers, each is asked */
	int error;	/* the first failure of a peer */
	bool only_sent; /* the turn before did not receive */
	struct nb_gin_regions regions;
	void (*arrived)(void *arg, const struct nb_gin_arrival *a);
	void *arg;
	struct nb_gin_op *spare; /* free operations for answers */
	struct answer_block *blocks;
	uint64_t comm_id;
	struct nb_gin_peer *peer; /* nranks */
	char ahead[NB_GIN_AHEAD];
};

int nb_gin_tcp_init(void **ctx, uint64_t comm_id, nb_net_logger *logger);
int nb_gin_tcp_finalize(void *ctx);
int nb_gin_tcp_devices(int *n);
int nb_gin_tcp_properties(int dev, struct nb_net_props *props);
int nb_gin_tcp_listen(void *ctx, int dev, void *handle, void **listen_comm);
int nb_gin_tcp_close_listen(void *listen_comm);
/* Connect all peers of @c; bounded in time. */
int nb_gin_tcp_join(struct nb_gin_tcp *c, const struct nb_gin_mesh *mesh);

void nb_gin_enqueue(struct nb_gin_peer *p, struct nb_gin_op *op);
/* Send what is queued, as far as the socket takes it. */
void nb_gin_send(struct nb_gin_tcp *c, struct nb_gin_peer *p);
/* Queue the next announcement of a region, if there is one. */
void nb_gin_announce(struct nb_gin_tcp *c, struct nb_gin_peer *p);
void nb_gin_goodbye(struct nb_gin_peer *p);
/* An operation for an answer; NULL: no memory. */
struct nb_gin_op *nb_gin_answer_new(struct nb_gin_tcp *c);
void nb_gin_answers_free(struct nb_gin_tcp *c);
/* The connection is lost: @why, for the log. Operations fail. */
void nb_gin_lose(struct nb_gin_tcp *c, struct nb_gin_peer *p, const char *why);
void nb_gin_fail_all(struct nb_gin_peer *p, int error);

/* Read and apply what the peer sent, up to a limit. */
void nb_gin_receive(struct nb_gin_tcp *c, struct nb_gin_peer *p);
/* Apply a put or signal of our own rank. 0 or NB_NET_ARGUMENT. */
int nb_gin_apply_self(struct nb_gin_tcp *c, struct nb_gin_op *op);
/* End the peer's connection for an offence. */
void nb_gin_offend(struct nb_gin_tcp *c, struct nb_gin_peer *p,
		   enum nb_gin_offence what);

/* The handshake: the connector's first message, and the answer. */
struct nb_gin_hello {
	uint64_t magic, cookie;
	uint32_t version, rank, nranks, zero;
};
/* NCCL's 128 bytes. */
struct nb_gin_handle {
	uint64_t magic, cookie;
	uint16_t family, port; /* port: network order */
	uint32_t version;
	uint8_t addr[16];
};
#define NB_GIN_HELLO_MAGIC UINT64_C(0x6e63636c62676831)
#define NB_GIN_HANDLE_MAGIC UINT64_C(0x6e63636c62676e68)
enum { NB_GIN_VERSION = 1 };

#endif
