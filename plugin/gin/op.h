// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_GIN_OP_H
#define NB_PLUGIN_GIN_OP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a GPU kernel may post. */
enum nb_gin_kind {
	NB_GIN_PUT,
	NB_GIN_SIGNAL, /* a signal, with or without a put before it */
	NB_GIN_GET,
	NB_GIN_FLUSH,
};

/* What a signal of NCCL does to the signal's value. */
enum nb_gin_signal_op { NB_GIN_NO_SIGNAL, NB_GIN_INCREMENT, NB_GIN_ADD, NB_GIN_NSIGNAL_OPS };

enum nb_gin_state {
	NB_GIN_FREE,
	NB_GIN_HELD,   /* a policy program delays the operation */
	NB_GIN_POSTED, /* the transport has the operation */
	NB_GIN_DONE,
	NB_GIN_FAILED /* the operation failed; op.error holds the reason */
};

/*
 * Arguments of an operation, as NCCL passes them. For a get, src is the peer's
 * memory and dst is ours.
 */
#define NB_GIN_WORDS                                                          \
	uint32_t kind; /* enum nb_gin_kind */                                 \
	uint32_t rank, context;                                               \
	uint32_t signal_op; /* enum nb_gin_signal_op: what the signal does */ \
	uint32_t flags;	    /* NB_GIN_MORE or 0, as NCCL passes it */         \
	bool strong;                                                          \
	uint64_t size, src_off, dst_off, signal_off, value;                   \
	/* memory handles that reg_mr returned */                             \
	void *src, *dst, *signal
struct nb_gin_words {
	NB_GIN_WORDS;
};

/* One operation. post.c owns it; the transport sets its state and error. */
struct nb_gin_op {
	union {
		struct {
			NB_GIN_WORDS;
		};
		struct nb_gin_words words;
	};
	enum nb_gin_state state;
	int error;
	/* next operation in the one queue that holds it */
	struct nb_gin_op *next;
	void *inner; /* request that the wrapped plugin returned */
	uint32_t index, generation;
	uint32_t polls;
	bool told; /* the failure was counted already */
	uint64_t number, post_ns, sent_ns, release_ns;
};
/* The number of no region. */
#define NB_GIN_NO_REGION UINT32_MAX

/* Bit in optFlags of RMA v15: NCCL posts another operation at once. */
enum { NB_GIN_MORE = 1 };

#endif
