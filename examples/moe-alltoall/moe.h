// SPDX-License-Identifier: MIT
/*
 * The parts of the example: a layer of experts (moe_layer.c), the job that
 * runs its ranks (moe_job.c), and a carrier of its puts and signals. The
 * carrier either calls our plugin directly (moe_rma.c) or runs kernels' code
 * over the real libnccl (moe_nccl.cc).
 */
#ifndef EXAMPLES_MOE_H
#define EXAMPLES_MOE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
	MOE_RANKS = 4,
	MOE_PROCESSES = 2,
	MOE_EXPERTS = 8,
	/* for each phase: MOE_RANKS for data, MOE_RANKS for credits */
	MOE_SIGNALS = 4 * MOE_RANKS,
	MOE_COUNTERS = 2 * MOE_RANKS, /* MOE_RANKS entries for each phase */
	MOE_BLOB = 128,		      /* size of a handle or of NCCL's unique id */
};

struct moe_options {
	bool chunks, hold, counts;
	uint32_t ntokens, topk, hidden, skew;
	int nrounds;
};
extern struct moe_options moe_options;

struct moe_list {
	uint32_t n;
	char *at;
};

struct moe_posted {
	uint64_t puts, signals, bytes;
};

/* Dispatch is phase 0 and combine is phase 1. Each has its own memory. */
struct moe_rank {
	uint32_t r;
	void *carrier; /* private data of the carrier */
	char *data;    /* memory of the window */
	char *lists;   /* tokens outside the window, used in mode "chunks" */
	uint64_t seen[2][MOE_RANKS], counted[2][MOE_RANKS];
	uint8_t *listed; /* the peer of each token, in order */
	size_t nlisted;
	struct moe_list out[MOE_RANKS], in[MOE_RANKS];
	struct moe_posted posted[MOE_RANKS];
};

/* An operation: a put, a put with a signal, or (size 0) a signal alone. */
struct moe_put {
	uint32_t to;
	size_t from, at, size; /* offsets in the source and target window */
	uint64_t add;	       /* number to add to the target's signal; 0: none */
	uint32_t signal;
	bool count; /* increment @counter when the source is free */
	uint32_t counter;
};

struct moe_carrier_ops {
	const char *words;
	/*
	 * Create a window of @bytes at k->data, MOE_SIGNALS signals and
	 * MOE_COUNTERS counters.
	 */
	void (*open)(struct moe_rank *k, size_t bytes);
	void (*close)(struct moe_rank *k);
	void (*put)(struct moe_rank *k, const struct moe_put *p);
	uint64_t (*signal)(struct moe_rank *k, uint32_t i);
	uint64_t (*counter)(struct moe_rank *k, uint32_t i);
	void (*progress)(struct moe_rank *k); /* progress operations, or yield the CPU */
	void (*flush)(struct moe_rank *k);    /* wait until all sources are free */
	/* Runs a collective beside the puts; NULL: the carrier has none. */
	void (*collective_start)(struct moe_rank *k);
	void (*collective_wait)(struct moe_rank *k);
};
extern const struct moe_carrier_ops *moe_carrier;

/* Functions of moe_layer.c */
void moe_layer_open(struct moe_rank *k);
void moe_layer_close(struct moe_rank *k);
/* Run one round. Returns the ms until all signals of the dispatch came. */
double moe_layer_round(struct moe_rank *k, int round, uint64_t *tokens);

/* Functions of moe_job.c */
int moe_main(int argc, char **argv, int first_option, const struct moe_carrier_ops *carrier);
__attribute__((noreturn)) void moe_die(const char *what);
void moe_meet(void);	    /* wait for all ranks of the job */
char *moe_blob(uint32_t r); /* MOE_BLOB bytes of rank @r in shared memory */

static inline void moe_need(int ok, const char *what)
{
	if (!ok)
		moe_die(what);
}

#ifdef __cplusplus
}
#endif
#endif
