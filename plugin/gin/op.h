// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_GIN_OP_H
#define NB_PLUGIN_GIN_OP_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * One operation of a kernel: a put, a put with a signal, a signal, a get or a
 * flush. post.c owns the operations; a transport links them into its queues and
 * sets state and error.
 */
enum nb_gin_kind {
	NB_GIN_PUT,
	NB_GIN_SIGNAL, /* with or without a put */
	NB_GIN_GET,
	NB_GIN_FLUSH,
	/* only the TCP transport uses these */
	NB_GIN_ANSWER,	/* the data of a peer's get */
	NB_GIN_REGION,	/* a region was registered here */
	NB_GIN_GOODBYE, /* the last message of a connection */
	NB_GIN_NKINDS
};

/* NCCL's signal operations. */
enum nb_gin_signal_op {
	NB_GIN_NO_SIGNAL,
	NB_GIN_INCREMENT,
	NB_GIN_ADD,
	NB_GIN_NSIGNAL_OPS
};

enum nb_gin_state {
	NB_GIN_FREE,
	NB_GIN_HELD,   /* a program holds it back */
	NB_GIN_POSTED, /* the transport has it */
	NB_GIN_DONE,
	NB_GIN_FAILED /* error says why */
};

/*
 * The header of a message of the TCP transport, in host byte order: a peer of
 * another byte order has a wrong magic. Regions are registration numbers of the
 * collComm, the same on all ranks.
 */
struct nb_gin_head {
	uint32_t magic;
	uint32_t number; /* message number on its connection, from 0 */
	uint8_t kind, signal_op;
	uint16_t zero;
	uint32_t region, signal_region; /* NB_GIN_NO_REGION: none */
	uint32_t context;
	uint64_t offset, size;
	uint64_t signal_offset, value;
};
static_assert(sizeof(struct nb_gin_head) == 56, "no padding");
#define NB_GIN_NO_REGION UINT32_MAX
enum { NB_GIN_MAGIC = 0x6e62676e };

struct nb_gin_op {
	/* NCCL's arguments; of a get, src is the peer's memory, dst ours */
	enum nb_gin_kind kind;
	uint32_t rank, context;
	uint32_t signal_op; /* enum nb_gin_signal_op */
	uint32_t flags;	    /* NB_GIN_MORE */
	bool strong;
	uint64_t size, src_off, dst_off, signal_off, value;
	void *src, *dst, *signal; /* handles of reg_mr */
	/* the transport's */
	enum nb_gin_state state;
	int error;
	struct nb_gin_op *next; /* in one queue at a time */
	void *inner;		/* a wrapped plugin's request */
	char *data;
	uint64_t moved; /* bytes of header and data */
	struct nb_gin_head head;
	/* post.c's */
	uint32_t index, generation;
	uint32_t polls;
	bool told; /* its failure was counted */
	uint64_t number, post_ns, sent_ns, release_ns;
};

/* optFlags of RMA v15: another operation follows at once. */
enum { NB_GIN_MORE = 1 };

#endif
