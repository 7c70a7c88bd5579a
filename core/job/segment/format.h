// SPDX-License-Identifier: MIT
#ifndef NB_JOB_SEGMENT_FORMAT_H
#define NB_JOB_SEGMENT_FORMAT_H

#include <stdint.h>

#include "core/base/sha256.h"
#include "core/job/segment/packed.h"

/*
 * The job segment: generations, communicators and fences that the processes of
 * a job on one host share. It is a file <job>.seg beside the sockets, and all
 * processes map it. A process that cannot have it uses private memory of the
 * same layout.
 *
 * Every process of the same uid can write the segment, so each value in it may
 * be wrong: check it before using it as an index. Members marked atomic are
 * read without the lock, all others only under nb_segment_lock.
 */
enum {
	NB_SEG_VERSION = 22,
	NB_SEG_GENS = 64,
	NB_SEG_PROCS = 512,
	NB_SEG_COMMS = 256,
	NB_SEG_SLOTS = 64, /* Largest number of ranks of a communicator on this
			      host. */
	NB_SEG_RINGS = 2048,
	NB_RING = 1024 /* Decisions kept for each rank. */
};

#define NB_SEG_MAGIC UINT64_C(0x3167657366706263) /* The bytes "cbpfseg1" */

/* Settings that must be the same on all ranks; rows in core/defs/settings.h. */
enum nb_setting {
#define SETTING(name, text, values) NB_SETTING_##name,
#include "core/defs/settings.h"
	NB_NSETTINGS
};

/* Facts about a rank's host; rows in core/defs/platform.h. */
enum nb_fact {
#define FACT(name) NB_FACT_##name,
#include "core/defs/platform.h"
	NB_NFACTS
};

/* Has a communicator's first decision found all of its ranks in this segment? */
enum nb_facts { NB_FACTS_OPEN, NB_FACTS_KNOWN, NB_FACTS_UNKNOWN };

/*
 * A process, in 128 bytes. Offset, stride and the first three members are
 * the same in all versions, so each version can check whether processes of
 * another version are alive.
 */
struct nb_seg_proc {
	uint64_t pid; /* Process ID; 0 if the entry is free. */
	/* Start time of the process in clock ticks since boot. */
	uint64_t start;
	uint64_t ns;	 /* nb_pid_namespace of the process. */
	uint32_t staged; /* 1 if the member digest is staged. */
	uint32_t flags;	 /* NB_SEG_PROC_* bits of the process. */
	/* Random number of the process (nb_process_token), since processes of
	 * two PID namespaces may have the same PID. */
	uint64_t token;
	uint8_t digest[NB_SHA256_SIZE];
	int32_t rank; /* Rank number from the launcher; -1 if unknown. */
	uint32_t setting[NB_NSETTINGS];
	/* Atomic: number of the process's baseline generation. */
	uint32_t baseline;
	int32_t ranks; /* Ranks that the launcher has started; -1 if unknown. */
	/* Atomic: the first bytes of the digest of NCCLBPF_POLICY's generation, | 1; 0: unknown. */
	uint32_t first;
	uint8_t pad[40 - 4 * NB_NSETTINGS];
};

enum {
	/* Coordinators must run membarrier(2) for this process. */
	NB_SEG_PROC_MEMBARRIER = 1,
	NB_SEG_PROC_CONTROL = 2, /* The process has a control socket. */
	/* The process holds the file lock of its entry as long as it lives. */
	NB_SEG_PROC_LOCKED = 4,
	/* The process is the site's agent and not part of the job. */
	NB_SEG_PROC_AGENT = 8
};

enum { NB_SEG_MAKER = 200, NB_SEG_TEXT = 400 };
/* PID of a client whose PID namespace we do not see. */
#define NB_SEG_MAKER_UNSEEN UINT32_MAX

/* The client that asked for a change. */
struct nb_seg_maker {
	/* Peer of the control socket. pid 0: no client. */
	uint32_t uid, pid;
	/* The client's start time in clock ticks since boot; 0: unknown. */
	uint64_t start;
	/* What the client says: "user,host,process,rollout", maybe cut. */
	char text[NB_SEG_MAKER];
};

struct nb_seg_gen {
	/* Atomic; 0 if the entry is free. Number 0 also names the empty
	 * generation. */
	uint64_t number;
	uint64_t digest[NB_SHA256_SIZE / 8]; /* SHA-256 in atomic words. */
	/* Policy names with blanks between them; the text may be cut. */
	char names[200];
	uint64_t at_s; /* Time of the commit in seconds since 1970. */
	struct nb_seg_maker maker;
	/* Atomic: number of the generation in the fleet; 0 for none. */
	uint64_t fleet;
};

enum nb_seg_slot_state {
	NB_SLOT_FREE,
	NB_SLOT_LIVE,
	NB_SLOT_GONE /* The rank is finalized or dead. */
};

/* One rank, in one cache line that its deciding thread writes. */
struct nb_seg_slot {
	/* Atomic: number of the latest decision + 1. With a clock of API
	 * calls (nb_seg_comm.clock): number of calls before that decision +
	 * 1. */
	uint64_t announced;
	uint64_t hash; /* Atomic: running hash of decisions; see packed.h. */
	/* Atomic: the ARMED word of the fence at which the rank waits; 0:
	 * none. */
	uint64_t waiting;
	uint32_t generation; /* Atomic: number of the rank's generation. */
	/* Atomic, but changed only under the segment's lock. */
	uint32_t state;
	uint32_t proc; /* Index of the rank's process; read under the lock. */
	/* Index of the rank's ring + 1; 0 if the segment has no ring for it. */
	uint32_t ring;
	uint32_t pid;
	int32_t rank; /* Rank number from the launcher; -1 if unknown. */
	/* Atomic: number of API calls that the profiler has seen, + 1; 0 if the
	 * profiler sees no calls. The profiler's thread writes it. */
	uint64_t calls;
	/* Atomic: number of decisions begun; only if API calls are the
	 * clock. */
	uint64_t decisions;
} __attribute__((aligned(64)));

/* The record of fences, which each decision reads: one cache line, rarely
 * written. */
struct nb_seg_record {
	uint64_t word;	   /* Atomic: the word of plugin/job/fence.h. */
	uint64_t fallback; /* Atomic: the word that an abort restores. */
	/* Settings of the communicator's first rank. Other communicators of
	 * the process may have other values. */
	uint32_t abi, chain_tuner;
	uint8_t pad[40];
} __attribute__((aligned(64)));

/* How the ranks of a communicator differed at start-up. */
enum nb_differ {
	NB_DIFFER_NOT,
	NB_DIFFER_POLICIES,
	NB_DIFFER_MISSING, /* A rank was missing at the first decision. */
	/* This value plus an nb_setting: that setting differed. */
	NB_DIFFER_SETTING
};

/* Does the communicator have ranks on other sites (docs/fleet.md)? */
enum nb_fleet_kind {
	NB_FLEET_NOT,
	/*
	 * The communicator has ranks on other sites. No rank on this site has
	 * decided yet.
	 */
	NB_FLEET_NEW,
	/* The kind of clock is chosen, so fences may be armed. */
	NB_FLEET_BEGUN
};

/* The events by which a communicator numbers its fences. */
enum nb_clock_kind {
	NB_CLOCK_DECISIONS = 1, /* The events are calls of the tuner. */
	/* The events are calls of NCCL's API, if all ranks see them. */
	NB_CLOCK_CALLS,
	/* NCCL may ask the tuners of some ranks only, and not all ranks see API
	 * calls: no event has the same number on all ranks. */
	NB_CLOCK_NONE
};

/* What names a communicator. */
enum nb_seg_id {
	NB_ID_NONE,  /* Nothing: the communicator has no entry. */
	NB_ID_TUNER, /* The tuner's init, which all ranks pass before one decides. */
	/*
	 * The profiler's init (NCCL 2.27). The tuner's init of a rank may come
	 * after decisions of others, so ranks start with NCCLBPF_POLICY, and a
	 * fence waits until all have registered.
	 */
	NB_ID_PROFILER
};

struct nb_seg_comm {
	uint64_t comm_id;
	uint32_t in_use; /* Atomic: the entry is in use. */
	uint32_t nranks, nnodes;
	/* Atomic: ranks started with differences; see differs. */
	uint32_t mismatch;
	uint32_t first;	 /* Number of the communicator's initial generation. */
	uint32_t has_id; /* An enum nb_seg_id. */
	/* Atomic: number of the first diverged decision + 1, or 0. */
	uint64_t diverged;
	uint32_t differs; /* Atomic: an enum nb_differ, if mismatch is set. */
	/* The two slots between which @differs was found. */
	uint32_t differ_slot[2];
	uint32_t differ_value[2]; /* Values of the slots in @differ_slot. */
	/* Atomic: an enum nb_clock_kind, which the first rank that begins
	 * chooses; 0: none has. */
	uint32_t clock;
	/* Atomic: an enum nb_fleet_kind. If the communicator is in a fleet,
	 * the record is a copy that the agent writes. */
	uint32_t fleet;
	/* Atomic: not 0 if a rank's NCCL may ask the tuners of some ranks only,
	 * so decisions are no clock. */
	uint32_t asks_some;
	/* Atomic: the store's revision when the agent had registered this
	 * communicator; older records belong to another one. 0 if not yet
	 * registered. */
	uint64_t fleet_since;
	/*
	 * The fleet's record that the agent has copied or is copying: its id,
	 * and that of the record before it (plugin/agent/keys/view.h). 0: none.
	 * Only the agent uses them, but they outlive it: a copy is never
	 * replaced by an older one. fleet_copied: the id again, once the copy
	 * is complete.
	 */
	uint64_t fleet_id, fleet_was, fleet_copied;
	/* Atomic: 1 if the store lacks the copied record and any that follows
	 * it. The agent then copies only an outcome that a site writes again. */
	uint64_t fleet_lost;
	/* Atomic, written under the lock: the first bytes of the digests of the
	 * generation that is staged and of the job's, if the communicator cannot
	 * have their replicated maps; 0: it can. */
	uint64_t lacks[2];
	/* Why NCCL decides for this communicator of several hosts; "" if the
	 * policies decide. */
	char fleet_why[160];
	/* Atomic: index + 1 of the process that returns diverged ranks to NCCL's
	 * own choice; 0: none has to. */
	uint32_t resets;
	uint32_t facts; /* Atomic: an enum nb_facts, which is written once. */
	/* Atomic, changed under the lock: the facts that all registered ranks share;
	 * NCCLBPF_MIXED where they differ. */
	uint32_t fact[NB_NFACTS];
	struct nb_seg_record record;
	struct nb_seg_slot slot[NB_SEG_SLOTS];
};

/* Return true if the fleet changes the communicator. */
static inline bool nb_seg_of_fleet(const struct nb_seg_comm *c)
{
	return __atomic_load_n(&c->fleet, __ATOMIC_ACQUIRE) != NB_FLEET_NOT;
}

/* Return the clock that the communicator's first rank has recorded; decisions if none has. */
static inline enum nb_clock_kind nb_seg_clock(const struct nb_seg_comm *c)
{
	uint32_t kind = __atomic_load_n(&c->clock, __ATOMIC_ACQUIRE);

	if (!kind)
		return NB_CLOCK_DECISIONS;
	return kind <= NB_CLOCK_NONE ? (enum nb_clock_kind)kind : NB_CLOCK_NONE;
}

/* Return a fact as the communicator's policies see it. */
static inline uint32_t nb_seg_fact(const struct nb_seg_comm *c, enum nb_fact fact)
{
	return __atomic_load_n(&c->facts, __ATOMIC_ACQUIRE) == NB_FACTS_KNOWN
		       ? __atomic_load_n(&c->fact[fact], __ATOMIC_RELAXED)
		       : 0;
}

/* State of the site's agent, which writes it. The first process of a run
 * writes runs, and sets change to 0. */
struct nb_seg_agent {
	/* Atomic: CLOCK_MONOTONIC time of the agent's last loop iteration. */
	uint64_t beat_ms;
	uint64_t store;	 /* Atomic: 1 if etcd answers the agent, else 0. */
	uint64_t change; /* Atomic: number of the latest change. */
	char site[72];
	char text[NB_SEG_TEXT]; /* Text of what is wrong; "" if nothing is. */
	/* Atomic: CLOCK_MONOTONIC time of the agent's last loop iteration as
	 * the coordinator of its job; 0: another site coordinates. */
	uint64_t coordinates_ms;
	/* Atomic: the proposal (nb_seg.proposal) that the agent has finished.
	 * Before it, the agent writes why the proposal was refused; "" if it
	 * was committed. */
	uint64_t finished;
	char refused[160];
	/* Revision of the store when the agent had registered run since_run of
	 * the job; 0 if it has not. */
	uint64_t since, since_run;
	/* The store's latest revision in any reply to the agent. */
	uint64_t revision;
	/* Atomic: the revision from which the store has gone back in this run
	 * of the job, and the revision that it then had; 0: it has not. */
	uint64_t back_from, back_to;
	/* Under the lock: how often a process has joined without finding
	 * another one. The job may run again before the agent sees that it has
	 * ended. */
	uint64_t runs;
};

struct nb_seg {
	uint64_t magic;
	uint32_t version, size;
	uint64_t next_gen; /* Number of the next generation; under the lock. */
	uint64_t baseline; /* Atomic: number of the last committed generation. */
	/* Written by processes of version 15 and before that meet this segment. */
	uint64_t old_marks[3];
	/* Atomic, changed under the lock: no entry of @comm from this index on was ever used. */
	uint32_t ncomms;
	uint32_t pad;
	/* At the same offset in all versions. */
	struct nb_seg_proc proc[NB_SEG_PROCS];
	struct nb_seg_gen gen[NB_SEG_GENS];
	struct nb_seg_comm comm[NB_SEG_COMMS];
	/* Owner of each ring: index of communicator * NB_SEG_SLOTS + slot +
	 * 1; 0 if never used. Under the lock. */
	uint32_t ring_owner[NB_SEG_RINGS];
	/* Atomic: the process that runs controllers; 0 for none. */
	uint64_t loop;
	/* Atomic: number of the change that the site's controllers propose to
	 * the fleet; 0: none so far. */
	uint64_t proposal;
	/* Digest of the first directory that the processes could use; the file
	 * may be in a later one (plugin/job/place.c). */
	uint64_t place;
	struct nb_seg_agent agent;
};

/*
 * The rings of decisions follow the segment; pages are allocated on demand.
 * Decision k of a rank is element k % NB_RING of its ring. After a ring's
 * decisions come, for each decision, the low 32 bits of the number of API
 * calls before it, if the rank's clock counts these, then, for each decision,
 * the word of its chunk size (packed.h), and then the latest hashes of the
 * rank's replicated maps.
 */
enum { NB_STATES = 8, NB_STATE_EVERY = 64 };

/* A hash of the replicated maps after API call @call, a multiple of
 * NB_STATE_EVERY; 0: none. Atomic; @call is written last. */
struct nb_seg_state {
	uint64_t call, hash;
};

#define NB_SEG_PAGE UINT64_C(4096)
#define NB_SEG_RINGS_AT ((sizeof(struct nb_seg) + NB_SEG_PAGE - 1) / NB_SEG_PAGE * NB_SEG_PAGE)
#define NB_SEG_RING_SIZE                                                              \
	(NB_RING * (sizeof(struct nb_packed) + sizeof(uint32_t) + sizeof(uint64_t)) + \
	 NB_STATES * sizeof(struct nb_seg_state))
#define NB_SEG_SPAN (NB_SEG_RINGS_AT + NB_SEG_RINGS * NB_SEG_RING_SIZE)

/* Return the numbers of API calls before each decision of @ring. */
static inline uint32_t *nb_seg_clocks(const struct nb_packed *ring)
{
	return (uint32_t *)(uintptr_t)(ring + NB_RING);
}

/* Return the words with the chunk sizes of the decisions of @ring. */
static inline uint64_t *nb_seg_chunks(const struct nb_packed *ring)
{
	return (uint64_t *)(void *)(nb_seg_clocks(ring) + NB_RING);
}

/* Return the NB_STATES hashes of replicated maps behind @ring. */
static inline struct nb_seg_state *nb_seg_states(const struct nb_packed *ring)
{
	return (struct nb_seg_state *)(void *)(nb_seg_chunks(ring) + NB_RING);
}

/*
 * Return the number of entries of @comm to look at. An entry has a page of its own and more, so
 * a process that looked at all of them would have a megabyte more in memory.
 */
static inline uint32_t nb_seg_ncomms(const struct nb_seg *seg)
{
	uint32_t n = __atomic_load_n(&seg->ncomms, __ATOMIC_ACQUIRE);

	return n < NB_SEG_COMMS ? n : NB_SEG_COMMS;
}

/* Return the digest of directory @dir for nb_seg.place. */
static inline uint64_t nb_seg_place(const char *dir)
{
	uint64_t n = UINT64_C(0xcbf29ce484222325); /* FNV-1a */

	for (; *dir; dir++)
		n = (n ^ (unsigned char)*dir) * UINT64_C(0x100000001b3);
	return n | 1;
}

/* Return the number of the last committed generation; 0: none. */
static inline uint32_t nb_seg_baseline(const struct nb_seg *seg)
{
	return (uint32_t)__atomic_load_n(&seg->baseline, __ATOMIC_SEQ_CST);
}

enum nb_fence_state { NB_FENCE_NONE, NB_FENCE_ARMED, NB_FENCE_COMMIT };

#define NB_FENCE_MAX_GEN ((UINT32_C(1) << 22) - 1)
#define NB_FENCE_MAX_SEQ ((UINT64_C(1) << 40) - 1)

static inline uint64_t nb_fence_word(enum nb_fence_state state, uint32_t number, uint64_t fence)
{
	return (uint64_t)state << 62 | (uint64_t)(number & NB_FENCE_MAX_GEN) << 40 |
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
