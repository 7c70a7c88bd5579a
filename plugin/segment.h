// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_SEGMENT_H
#define NB_PLUGIN_SEGMENT_H

#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/base/err.h"
#include "core/base/sha256.h"

/*
 * The job segment: what the processes of a job on one host share about
 * generations, communicators and fences. A file <job>.seg beside the sockets,
 * mapped by all; where it cannot be had, private memory of the same form.
 *
 * Every process of the same uid can write it, so whatever is read from it is
 * a number that may be wrong, never an index or pointer that is trusted.
 * Fields marked atomic are read without the lock; all others only under
 * nb_segment_lock.
 */
enum {
	NB_SEG_VERSION = 1,
	NB_SEG_GENS = 64,
	NB_SEG_PROCS = 512,
	NB_SEG_COMMS = 256,
	NB_SEG_SLOTS = 64 /* ranks of a communicator on this host */
};

#define NB_SEG_MAGIC UINT64_C(0x3167657366706263) /* "cbpfseg1" */

/* 128 bytes. Offset, stride and the first three members are the same in all
 * versions, so that each can tell whether another's processes live. */
struct nb_seg_proc {
	uint64_t pid;	 /* 0: free */
	uint64_t start;	 /* start time of the pid, clock ticks since boot */
	uint64_t ns;	 /* its PID namespace (inode); 0: not known */
	uint32_t staged; /* 1: digest is staged */
	uint32_t flags;	 /* NB_SEG_PROC_* */
	uint8_t digest[NB_SHA256_SIZE];
	uint8_t pad[64];
};

enum {
	NB_SEG_PROC_MEMBARRIER = 1, /* its decisions need the coordinator's */
	NB_SEG_PROC_CONTROL = 2	    /* it has a control socket */
};

struct nb_seg_gen {
	uint64_t number; /* atomic; 0: free. Number 0 is the empty generation */
	uint64_t digest[NB_SHA256_SIZE / 8]; /* atomic words */
};

enum nb_seg_slot_state {
	NB_SLOT_FREE,
	NB_SLOT_LIVE,
	NB_SLOT_GONE /* finalized or dead: decides nothing more */
};

/* One rank; one cache line, written by its deciding thread. */
struct nb_seg_slot {
	uint64_t announced;  /* atomic: number of the latest decision + 1 */
	uint64_t hash;	     /* atomic: running over decisions */
	uint64_t waiting;    /* atomic: the ARMED word it waits for, or 0 */
	uint32_t generation; /* atomic: number it decides with */
	uint32_t state;	     /* atomic, changed under the lock */
	uint32_t proc;	     /* index; under the lock */
	uint8_t pad[28];
} __attribute__((aligned(64)));

/* Where ranks look at each decision: one cache line, read-mostly. */
struct nb_seg_record {
	uint64_t word;	   /* atomic: see plugin/fence.h */
	uint64_t fallback; /* atomic: what abort puts back */
	uint8_t pad[48];
} __attribute__((aligned(64)));

struct nb_seg_comm {
	uint64_t comm_id;
	uint32_t in_use; /* atomic */
	uint32_t nranks, nnodes;
	uint32_t mismatch; /* atomic: ranks began with different policies */
	uint32_t first;	   /* number of the generation it began with */
	uint32_t has_id;   /* 0: counts ranks, and no fence is armed */
	uint8_t pad[32];
	struct nb_seg_record record;
	struct nb_seg_slot slot[NB_SEG_SLOTS];
};

struct nb_seg {
	uint64_t magic;
	uint32_t version, size;
	uint64_t next_gen; /* under the lock */
	uint64_t baseline; /* atomic: number of the last committed */
	uint8_t pad[32];
	struct nb_seg_proc proc[NB_SEG_PROCS];
	struct nb_seg_gen gen[NB_SEG_GENS];
	struct nb_seg_comm comm[NB_SEG_COMMS];
};

/* A process's hold of it. */
struct nb_segment {
	struct nb_seg *mem;
	int fd; /* -1: private memory */
	bool shared;
	bool membarrier; /* this process may rely on a coordinator's */
	uint32_t proc;	 /* its own entry */
	char why[256];	 /* why it is not shared */
	pthread_mutex_t mutex;
};

/*
 * nb_segment_attach - map the segment of @job and register this process
 * @dirfd: directory of sockets; -1: none, private memory
 * @flags: NB_SEG_PROC_CONTROL or 0
 * @membarrier: false: behave as where that system call is refused
 *
 * Resets a segment in which no registered process lives. Never fails for want
 * of a file: falls back to private memory and says why in (*out)->why. NULL
 * and NB_E_NOMEM otherwise.
 */
int nb_segment_attach(struct nb_segment **out, int dirfd, const char *job,
		      uint32_t flags, bool membarrier, struct nb_err *err);
/* Take this process out of the segment and unmap it. NULL is fine. */
void nb_segment_detach(struct nb_segment *s);
/* In a forked child: unmap, close and free, leave the parent registered. */
void nb_segment_abandon(struct nb_segment *s);

/*
 * The lock: of this process's threads and of the job's processes, released by
 * the kernel when its holder dies. NB_E_BUSY when it cannot be had in
 * @timeout_ms. Not recursive; never take the runtime's lock outside of it and
 * then this one.
 */
int nb_segment_lock(struct nb_segment *s, uint32_t timeout_ms,
		    struct nb_err *err);
void nb_segment_unlock(struct nb_segment *s);

/* ---- with the lock ---- */

/* Take out processes that died, with their slots and communicators. */
void nb_segment_reap(struct nb_segment *s);
/* Living processes. */
uint32_t nb_segment_procs(const struct nb_segment *s);

/*
 * The number of the generation with this digest, registering it if it is new;
 * @fresh: always a new number. 0 for the digest of zeroes unless @fresh.
 * NB_E_LIMIT when numbers are used up.
 */
int nb_segment_gen(struct nb_segment *s, const uint8_t digest[NB_SHA256_SIZE],
		   bool fresh, uint32_t *number, struct nb_err *err);

/*
 * nb_segment_join - find or make the communicator's entry and take a slot
 * @has_id: false: NCCL gives no identity; ranks are put together as they come
 * @first: number of the generation it begins with if it is made now;
 *         its digest is compared if it exists
 *
 * *@slot gets the slot's index; the slot is zeroed and LIVE. A rank whose
 * digest differs from the entry's marks the entry: from then on all its ranks
 * decide with no policy. NB_E_LIMIT when entries or slots are used up.
 */
int nb_segment_join(struct nb_segment *s, bool has_id, uint64_t comm_id,
		    uint32_t nranks, uint32_t nnodes, uint32_t first,
		    struct nb_seg_comm **comm, uint32_t *slot,
		    struct nb_err *err);
/* Give the slot back; the last one frees the entry. */
void nb_segment_leave(struct nb_segment *s, struct nb_seg_comm *comm,
		      uint32_t slot);

/* ---- without the lock ---- */

/* Digest of generation @number; false when it is not there (any more). */
bool nb_segment_digest(const struct nb_segment *s, uint32_t number,
		       uint8_t digest[NB_SHA256_SIZE]);
/* Slots of @comm that are in use or were: LIVE and GONE. */
uint32_t nb_seg_registered(const struct nb_seg_comm *comm);

/* Full barrier on every CPU that runs a registered process's thread; false:
 * refused here. */
bool nb_segment_membarrier(const struct nb_segment *s);

/* Is the process of that start time alive (a zombie is not)? */
bool nb_process_alive(uint64_t pid, uint64_t start);
/* Start time of a process, 0 when it cannot be told. */
uint64_t nb_process_start(pid_t pid);

#endif
