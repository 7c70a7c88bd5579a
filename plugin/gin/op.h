// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_GIN_OP_H
#define NB_PLUGIN_GIN_OP_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * One operation that a GPU kernel posted: a put, a put with a signal, a signal,
 * a get or a flush. post.c owns the operations. A transport links them into its
 * queues and sets their state and error.
 */
enum nb_gin_kind {
	NB_GIN_PUT,
	NB_GIN_SIGNAL, /* a signal, with or without a put before it */
	NB_GIN_GET,
	NB_GIN_FLUSH,
	/* message kinds that only the TCP transport uses */
	NB_GIN_ANSWER,	/* carries the data that a peer's get asked for */
	NB_GIN_REGION,	/* tells the peer that a region was registered */
	NB_GIN_GOODBYE, /* the last message on a connection */
	NB_GIN_NKINDS
};

/* What a signal of NCCL does to the signal's value. */
enum nb_gin_signal_op {
	NB_GIN_NO_SIGNAL,
	NB_GIN_INCREMENT,
	NB_GIN_ADD,
	NB_GIN_NSIGNAL_OPS
};

enum nb_gin_state {
	NB_GIN_FREE,
	NB_GIN_HELD,   /* a policy program delays the operation */
	NB_GIN_POSTED, /* the transport has the operation */
	NB_GIN_DONE,
	NB_GIN_FAILED /* the operation failed; op.error holds the reason */
};

/*
 * Header of a TCP transport message, in host byte order. A peer of another byte
 * order is recognised by its wrong magic number. Regions are named by their
 * registration number, which is the same on all ranks of the collComm.
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
#define NB_GIN_NO_REGION UINT32_MAX
enum { NB_GIN_MAGIC = 0x6e62676e };

struct nb_gin_op {
	/*
	 * Fields copied from NCCL's arguments. For a get, src is the peer's
	 * memory and dst is ours.
	 */
	enum nb_gin_kind kind;
	uint32_t rank, context;
	uint32_t signal_op; /* enum nb_gin_signal_op: what the signal does */
	uint32_t flags;	    /* NB_GIN_MORE or 0, as NCCL passes it */
	bool strong;
	uint64_t size, src_off, dst_off, signal_off, value;
	void *src, *dst, *signal; /* memory handles that reg_mr returned */
	/* fields that the transport sets */
	enum nb_gin_state state;
	int error;
	/* next operation in the one queue that holds it */
	struct nb_gin_op *next;
	void *inner; /* request that a wrapped plugin returned */
	char *data;
	uint64_t moved; /* number of bytes of header and data sent so far */
	struct nb_gin_head head;
	/* fields that only post.c uses */
	uint32_t index, generation;
	uint32_t polls;
	bool told; /* the failure was counted already */
	uint64_t number, post_ns, sent_ns, release_ns;
};

/* Bit in optFlags of RMA v15: NCCL posts another operation at once. */
enum { NB_GIN_MORE = 1 };

#endif
