// SPDX-License-Identifier: MIT
#ifndef NB_JOBSEG_FORMAT_H
#define NB_JOBSEG_FORMAT_H

#include <stdint.h>

#include "core/base/sha256.h"
#include "core/jobseg/packed.h"

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
	NB_SEG_VERSION = 7,
	NB_SEG_GENS = 64,
	NB_SEG_PROCS = 512,
	NB_SEG_COMMS = 256,
	NB_SEG_SLOTS = 64, /* ranks of a communicator on this host */
	NB_SEG_RINGS = 2048,
	NB_SEG_LOST = 16, /* ranks that could not register */
	NB_RING = 1024	  /* decisions kept of a rank */
};

#define NB_SEG_UNNAMED UINT64_MAX

#define NB_SEG_MAGIC UINT64_C(0x3167657366706263) /* "cbpfseg1" */

/* What ranks must have alike; rows in core/defs/settings.h. */
enum nb_setting {
#define SETTING(name, text, values) NB_SETTING_##name,
#include "core/defs/settings.h"
	NB_NSETTINGS
};

/* 128 bytes. Offset, stride and the first three members are the same in all
 * versions, so that each can tell whether another's processes live. */
struct nb_seg_proc {
	uint64_t pid;	 /* 0: free */
	uint64_t start;	 /* start time of the pid, clock ticks since boot */
	uint64_t ns;	 /* its PID namespace (inode); 0: not known */
	uint32_t staged; /* 1: digest is staged */
	uint32_t flags;	 /* NB_SEG_PROC_* */
	uint8_t digest[NB_SHA256_SIZE];
	int32_t rank; /* as the launcher says; -1: it does not */
	uint32_t setting[NB_NSETTINGS];
	uint8_t pad[60 - 4 * NB_NSETTINGS];
};

enum {
	NB_SEG_PROC_MEMBARRIER = 1, /* its decisions need the coordinator's */
	NB_SEG_PROC_CONTROL = 2,    /* it has a control socket */
	NB_SEG_PROC_LOCKED = 4 /* it holds its entry's lock while it lives */
};

struct nb_seg_gen {
	uint64_t number; /* atomic; 0: free. Number 0 is the empty generation */
	uint64_t digest[NB_SHA256_SIZE / 8]; /* atomic words */
	char names[200];   /* of its policies, separated by blanks; cut off */
	uint64_t at_s;	   /* when it was committed, since 1970... */
	uint32_t uid, pid; /* ...and who asked; pid 0: nobody */
};

enum nb_seg_slot_state {
	NB_SLOT_FREE,
	NB_SLOT_LIVE,
	NB_SLOT_GONE /* finalized or dead: decides nothing more */
};

/* One rank; one cache line, written by its deciding thread. */
struct nb_seg_slot {
	/* atomic: number of the latest decision + 1; where fences go by calls
	 * of the API (nb_seg_comm.clock) the number of those before it + 1 */
	uint64_t announced;
	uint64_t hash;	     /* atomic: running over decisions (packed.h) */
	uint64_t waiting;    /* atomic: the ARMED word it waits for, or 0 */
	uint32_t generation; /* atomic: number it decides with */
	uint32_t state;	     /* atomic, changed under the lock */
	uint32_t proc;	     /* index; under the lock */
	uint32_t ring;	     /* its ring + 1; 0: not in the segment */
	uint32_t pid;
	int32_t rank;	/* as in nb_seg_proc */
	uint64_t calls; /* atomic: calls of the API that the profiler has seen,
			 * + 1; 0: it sees none. Its thread writes it */
	uint64_t decisions; /* atomic: made, where announced does not say it */
} __attribute__((aligned(64)));

/* Where ranks look at each decision: one cache line, read-mostly. */
struct nb_seg_record {
	uint64_t word;	   /* atomic: see plugin/job/fence.h */
	uint64_t fallback; /* atomic: what abort puts back */
	/* what its first rank began with, of the settings that are not the same
	 * for all communicators of a process */
	uint32_t abi, chain_tuner;
	uint8_t pad[40];
} __attribute__((aligned(64)));

/* In what the ranks of a communicator differed when they began. */
enum nb_differ {
	NB_DIFFER_NOT,
	NB_DIFFER_POLICIES,
	NB_DIFFER_LOST,	    /* one could not register */
	NB_DIFFER_STRANGER, /* a process has another version of the segment */
	NB_DIFFER_MISSING,  /* not all had come when the first decided */
	NB_DIFFER_SETTING   /* and an nb_setting more */
};

/* What the ranks of a communicator count, and fences are numbers of. */
enum nb_clock_kind {
	NB_CLOCK_DECISIONS, /* calls of the tuner */
	NB_CLOCK_CALLS	    /* calls of NCCL's API, where all see them */
};

struct nb_seg_comm {
	uint64_t comm_id;
	uint32_t in_use; /* atomic */
	uint32_t nranks, nnodes;
	uint32_t mismatch; /* atomic: ranks began differently, see differs */
	uint32_t first;	   /* number of the generation it began with */
	uint32_t has_id;   /* 0: counts ranks, and no fence is armed */
	uint64_t diverged; /* atomic: decision + 1 where ranks were seen to
			    * differ; 0: none */
	uint32_t differs;  /* atomic: enum nb_differ, if mismatch... */
	uint32_t differ_slot[2];  /* ...between these... */
	uint32_t differ_value[2]; /* ...that have these */
	uint32_t clock;		  /* atomic: enum nb_clock_kind */
	struct nb_seg_record record;
	struct nb_seg_slot slot[NB_SEG_SLOTS];
};

/* A rank that could not register; no lock. */
struct nb_seg_lost {
	uint64_t pid;	  /* atomic; 0: free, 1: being filled */
	uint64_t comm_id; /* NB_SEG_UNNAMED: NCCL gives none */
	uint64_t ns;	  /* as in nb_seg_proc */
};

struct nb_seg {
	uint64_t magic;
	uint32_t version, size;
	uint64_t next_gen; /* under the lock */
	/* atomic: number of the last committed, and above bit 32 how often
	 * ranks without a place here have begun with it (nb_seg_baseline) */
	uint64_t baseline;
	/* atomic; the same place in all versions: a process that uses another
	 * one, and so shares nothing with the others, is in this job */
	uint64_t stranger;
	uint64_t stranger_ns; /* likewise; as in nb_seg_proc */
	uint64_t strangers;   /* likewise; there were more than one at once */
	/* atomic: the process that runs controllers; 0: none */
	uint64_t loop;
	struct nb_seg_proc proc[NB_SEG_PROCS];
	struct nb_seg_gen gen[NB_SEG_GENS];
	struct nb_seg_comm comm[NB_SEG_COMMS];
	/* whose ring: index of communicator * NB_SEG_SLOTS + slot + 1; 0: it
	 * was never used. Under the lock. */
	uint32_t ring_owner[NB_SEG_RINGS];
	struct nb_seg_lost lost[NB_SEG_LOST];
	/* atomic: there were more of them; 1: with an identity, 2: without */
	uint64_t all_lost;
};

/*
 * The rings of decisions follow, page by page as they are needed: decision k
 * of a rank is element k % NB_RING of its ring. Behind the decisions of a ring
 * are, for each of them, the low 32 bits of the calls of the API before it,
 * where the rank's clock counts these.
 */
#define NB_SEG_PAGE UINT64_C(4096)
#define NB_SEG_RINGS_AT \
	((sizeof(struct nb_seg) + NB_SEG_PAGE - 1) / NB_SEG_PAGE * NB_SEG_PAGE)
#define NB_SEG_RING_SIZE \
	(NB_RING * (sizeof(struct nb_packed) + sizeof(uint32_t)))
#define NB_SEG_SPAN (NB_SEG_RINGS_AT + NB_SEG_RINGS * NB_SEG_RING_SIZE)

/* Of the ring @ring: when its decisions were made. */
static inline uint32_t *nb_seg_clocks(const struct nb_packed *ring)
{
	return (uint32_t *)(uintptr_t)(ring + NB_RING);
}

static inline uint32_t nb_seg_baseline(uint64_t word)
{
	return (uint32_t)word;
}

/* ---- the record's word (plugin/job/fence.h says what it means) ---- */

enum nb_fence_state { NB_FENCE_NONE, NB_FENCE_ARMED, NB_FENCE_COMMIT };

#define NB_FENCE_MAX_GEN ((UINT32_C(1) << 22) - 1)
#define NB_FENCE_MAX_SEQ ((UINT64_C(1) << 40) - 1)

static inline uint64_t nb_fence_word(enum nb_fence_state state, uint32_t number,
				     uint64_t fence)
{
	return (uint64_t)state << 62 |
	       (uint64_t)(number & NB_FENCE_MAX_GEN) << 40 |
	       (fence & NB_FENCE_MAX_SEQ);
}

static inline unsigned nb_fence_word_state(uint64_t word)
{
	return (unsigned)(word >> 62);
}

static inline uint32_t nb_fence_word_gen(uint64_t word)
{
	return (uint32_t)(word >> 40) & NB_FENCE_MAX_GEN;
}

static inline uint64_t nb_fence_word_seq(uint64_t word)
{
	return word & NB_FENCE_MAX_SEQ;
}

#endif
