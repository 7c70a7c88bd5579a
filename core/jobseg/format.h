// SPDX-License-Identifier: MIT
#ifndef NB_JOBSEG_FORMAT_H
#define NB_JOBSEG_FORMAT_H

#include <stdint.h>

#include "core/base/sha256.h"
#include "core/jobseg/packed.h"

/*
 * The job segment: generations, communicators and fences that the processes of
 * a job on one host share. It is a file <job>.seg beside the sockets that all
 * of them map. A process that cannot have it uses private memory of the same
 * form.
 *
 * Every process of the same uid can write the segment, so each value in it may
 * be wrong: check it before using it as an index. Fields marked atomic are read
 * without the lock, all others only under nb_segment_lock.
 */
enum {
	NB_SEG_VERSION = 8,
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

/* Settings that all ranks must have alike; rows in core/defs/settings.h. */
enum nb_setting {
#define SETTING(name, text, values) NB_SETTING_##name,
#include "core/defs/settings.h"
	NB_NSETTINGS
};

/* 128 bytes. Offset, stride and the first three members are the same in all
 * versions, so each version can check whether another's processes live. */
struct nb_seg_proc {
	uint64_t pid;	 /* 0: free */
	uint64_t start;	 /* start time of the pid, clock ticks since boot */
	uint64_t ns;	 /* its PID namespace (inode); 0: not known */
	uint32_t staged; /* 1: digest is staged */
	uint32_t flags;	 /* NB_SEG_PROC_* */
	uint8_t digest[NB_SHA256_SIZE];
	int32_t rank; /* from the launcher; -1: unknown */
	uint32_t setting[NB_NSETTINGS];
	uint32_t baseline; /* atomic: number of its baseline generation */
	uint8_t pad[56 - 4 * NB_NSETTINGS];
};

enum {
	NB_SEG_PROC_MEMBARRIER = 1, /* coordinators must run membarrier(2) */
	NB_SEG_PROC_CONTROL = 2,    /* it has a control socket */
	NB_SEG_PROC_LOCKED = 4, /* holds its entry's file lock while it lives */
	NB_SEG_PROC_AGENT = 8	/* the site's agent, no process of the job */
};

struct nb_seg_gen {
	uint64_t number; /* atomic; 0: free. Number 0 is the empty generation */
	uint64_t digest[NB_SHA256_SIZE / 8]; /* atomic words */
	char names[200];   /* policy names with blanks between; may be cut */
	uint64_t at_s;	   /* commit time, seconds since 1970 */
	uint32_t uid, pid; /* requester of the commit; pid 0: none */
	uint64_t fleet;	   /* atomic: its number in the fleet; 0: none */
};

enum nb_seg_slot_state {
	NB_SLOT_FREE,
	NB_SLOT_LIVE,
	NB_SLOT_GONE /* finalized or dead */
};

/* One rank; one cache line, written by its deciding thread. */
struct nb_seg_slot {
	/* atomic: number of the latest decision + 1; with a clock of API calls
	 * (nb_seg_comm.clock): the calls before that decision + 1 */
	uint64_t announced;
	uint64_t hash;	     /* atomic: running hash of decisions, packed.h */
	uint64_t waiting;    /* atomic: ARMED word it waits at; 0: none */
	uint32_t generation; /* atomic: number of its generation */
	uint32_t state;	     /* atomic, changed under the lock */
	uint32_t proc;	     /* index; under the lock */
	uint32_t ring;	     /* its ring + 1; 0: not in the segment */
	uint32_t pid;
	int32_t rank;	/* from the launcher; -1: unknown */
	uint64_t calls; /* atomic: calls of the API that the profiler has seen,
			 * + 1; 0: it sees none. Its thread writes it */
	uint64_t decisions; /* atomic: decisions begun, with a clock of calls */
} __attribute__((aligned(64)));

/* Each decision reads this: one cache line, rarely written. */
struct nb_seg_record {
	uint64_t word;	   /* atomic: see plugin/job/fence.h */
	uint64_t fallback; /* atomic: the word that an abort restores */
	/* settings of the first rank that communicators of one process may
	 * have differently */
	uint32_t abi, chain_tuner;
	uint8_t pad[40];
} __attribute__((aligned(64)));

/* How the ranks of a communicator differed at start-up. */
enum nb_differ {
	NB_DIFFER_NOT,
	NB_DIFFER_POLICIES,
	NB_DIFFER_LOST,	    /* a rank could not register */
	NB_DIFFER_STRANGER, /* a process has another version of the segment */
	NB_DIFFER_MISSING,  /* a rank was missing at the first decision */
	NB_DIFFER_SETTING   /* plus an nb_setting: that setting differed */
};

/* Does the communicator have ranks on other sites (docs/fleet.md)? */
enum nb_fleet_kind {
	NB_FLEET_NOT,
	NB_FLEET_NEW,  /* yes; none of its ranks here has decided */
	NB_FLEET_BEGUN /* its clock is settled; fences may be armed */
};

/* The events by which a communicator numbers its fences. */
enum nb_clock_kind {
	NB_CLOCK_DECISIONS, /* calls of the tuner */
	NB_CLOCK_CALLS	    /* calls of NCCL's API, if all ranks see them */
};

struct nb_seg_comm {
	uint64_t comm_id;
	uint32_t in_use; /* atomic */
	uint32_t nranks, nnodes;
	uint32_t mismatch; /* atomic: ranks began differently, see differs */
	uint32_t first;	   /* number of its initial generation */
	uint32_t has_id;   /* 0: only counts ranks; no fence is armed */
	uint64_t diverged; /* atomic: first diverged decision + 1, or 0 */
	uint32_t differs;  /* atomic: enum nb_differ, if mismatch... */
	uint32_t differ_slot[2];  /* ...between these... */
	uint32_t differ_value[2]; /* ...that have these */
	uint32_t clock;		  /* atomic: enum nb_clock_kind */
	uint32_t fleet;		  /* atomic: enum nb_fleet_kind. If it is, the
				   * record is a copy that the agent writes */
	/* atomic: the store's revision when the agent had registered this
	 * communicator; older records are of another one. 0: not yet */
	uint64_t fleet_since;
	char fleet_why[160]; /* why the fleet leaves it to NCCL; "" */
	struct nb_seg_record record;
	struct nb_seg_slot slot[NB_SEG_SLOTS];
};

/* A rank that could not register; no lock. */
struct nb_seg_lost {
	uint64_t pid;	  /* atomic; 0: free, 1: being filled */
	uint64_t comm_id; /* NB_SEG_UNNAMED: NCCL gives none */
	uint64_t ns;	  /* PID namespace (inode); 0: not known */
};

/* State of the site's agent; only the agent writes it. */
struct nb_seg_agent {
	uint64_t beat_ms; /* atomic: CLOCK_MONOTONIC of its last loop turn */
	uint64_t store;	 /* atomic; 1: etcd answers the agent, 0: it does not */
	uint64_t change; /* atomic: number of the latest change */
	char site[72];
	char text[168]; /* what is wrong; "" */
};

struct nb_seg {
	uint64_t magic;
	uint32_t version, size;
	uint64_t next_gen; /* under the lock */
	/* atomic: number of the last committed generation; above bit 32 the
	 * ranks without a slot that started with it (nb_seg_baseline) */
	uint64_t baseline;
	/* atomic: a process of this job that uses another version, and so
	 * shares nothing with the others. The same offset in all versions. */
	uint64_t stranger;
	uint64_t stranger_ns; /* likewise: its ns, as in nb_seg_proc */
	uint64_t strangers;   /* likewise: there were two or more at once */
	/* atomic: the process that runs controllers; 0: none */
	uint64_t loop;
	struct nb_seg_proc proc[NB_SEG_PROCS];
	struct nb_seg_gen gen[NB_SEG_GENS];
	struct nb_seg_comm comm[NB_SEG_COMMS];
	/* owner of each ring: index of communicator * NB_SEG_SLOTS + slot + 1;
	 * 0: never used. Under the lock. */
	uint32_t ring_owner[NB_SEG_RINGS];
	struct nb_seg_lost lost[NB_SEG_LOST];
	/* atomic: lost[] was full; 1: for a rank with an identity, 2: without
	 */
	uint64_t all_lost;
	struct nb_seg_agent agent;
};

/*
 * The rings of decisions follow; pages are allocated on demand. Decision k of a
 * rank is element k % NB_RING of its ring. After a ring's decisions come, for
 * each decision, the low 32 bits of the API calls before it, if the rank's
 * clock counts these.
 */
#define NB_SEG_PAGE UINT64_C(4096)
#define NB_SEG_RINGS_AT \
	((sizeof(struct nb_seg) + NB_SEG_PAGE - 1) / NB_SEG_PAGE * NB_SEG_PAGE)
#define NB_SEG_RING_SIZE \
	(NB_RING * (sizeof(struct nb_packed) + sizeof(uint32_t)))
#define NB_SEG_SPAN (NB_SEG_RINGS_AT + NB_SEG_RINGS * NB_SEG_RING_SIZE)

/* API calls before each decision of @ring. */
static inline uint32_t *nb_seg_clocks(const struct nb_packed *ring)
{
	return (uint32_t *)(uintptr_t)(ring + NB_RING);
}

static inline uint32_t nb_seg_baseline(uint64_t word)
{
	return (uint32_t)word;
}

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
