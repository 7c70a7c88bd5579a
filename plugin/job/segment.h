// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_JOB_SEGMENT_H
#define NB_PLUGIN_JOB_SEGMENT_H

#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/base/err.h"
#include "core/base/sha256.h"
#include "core/job/segment/agree.h"
#include "core/job/segment/alive.h"
#include "core/job/segment/format.h"

/* A process's mapping of the job segment. */
struct nb_segment {
	struct nb_seg *mem;
	int fd;	   /* descriptor of the segment's file, or -1 for private memory */
	int dirfd; /* descriptor of the file's directory; -1: none */
	char name[128];
	uint64_t place; /* nb_seg.place of a segment that we create */
	bool shared;
	bool stranger; /* other processes share a segment that this one cannot use */
	/* ranks of this process rely on a coordinator's membarrier(2) */
	bool membarrier;
	uint32_t proc;		  /* index of this process's entry */
	bool left;		  /* at exit: the entry may be another process's by now */
	bool stuck;		  /* a rank has waited for the lock in vain; accessed atomically */
	uint64_t ns;		  /* nb_pid_namespace of this process */
	uint32_t fact[NB_NFACTS]; /* facts about this host, for the ranks of this process */
	char why[256];		  /* why the segment is not shared with other processes */
	pthread_mutex_t mutex;
};

/*
 * nb_segment_open - map the segment of @job, for nb_segment_attach
 *
 * A shared segment is returned locked; nb_segment_opened releases the lock. If
 * the file cannot be used, it falls back to private memory, and (*out)->why
 * says why. Returns 0 or NB_E_NOMEM.
 */
int nb_segment_open(struct nb_segment **out, int dirfd, const char *job, uint64_t place,
		    bool membarrier, struct nb_err *err);
void nb_segment_opened(struct nb_segment *s);
/*
 * Switch to private memory because no entry is free. Returns NB_E_NOMEM if @s has no memory.
 */
int nb_segment_full(struct nb_segment *s, struct nb_err *err);
/*
 * Unmap, close and free the segment, while the process stays registered. A
 * forked child calls it, and a failed start after nb_segment_open. @s may be
 * NULL.
 */
void nb_segment_abandon(struct nb_segment *s);

/*
 * Take the segment's lock, which excludes other threads of this process and
 * other processes of the job. The kernel releases it when its holder dies.
 * Returns NB_E_BUSY if it is not free within @timeout_ms. It is not recursive.
 * lock.h has the order of locks.
 */
int nb_segment_lock(struct nb_segment *s, uint32_t timeout_ms, struct nb_err *err);
void nb_segment_unlock(struct nb_segment *s);

/* Take a free entry for this process. Returns false if none is free. */
bool nb_segment_enter(struct nb_segment *s, uint32_t flags);
/*
 * Remove the file if no process is registered. A process that died stays
 * registered, so its data can be read until the next job of that name starts.
 */
void nb_segment_remove_if_last(const struct nb_segment *s);

/*
 * Take a zeroed ring for the rank in @slot of @comm. Other processes can read
 * it even after this process has died. Returns NULL if the segment is private,
 * all rings are in use, or the file system is full. The rank owns the ring
 * until its entry is reused.
 */
struct nb_packed *nb_segment_ring(struct nb_segment *s, struct nb_seg_comm *comm, uint32_t slot);

/*
 * Returns the segment in the form in which core/job/segment compares ranks. It
 * needs no freeing.
 */
struct nb_job nb_segment_job(const struct nb_segment *s);
/*
 * Run a memory barrier on every CPU that runs a thread of a registered process.
 * Returns false if the kernel refuses.
 */
bool nb_segment_membarrier(void);

/*
 * Returns true if the process of entry @i is alive. It does not work for our
 * own entry.
 */
bool nb_segment_entry_alive(const struct nb_segment *s, uint32_t i, enum nb_care care);
/*
 * Returns true if this process does the control threads' common work for communicator @c: of the
 * living processes with a control thread it has the first rank. All processes would do it alike,
 * at a cost that grows with the square of their number. Any thread; needs no lock.
 */
bool nb_segment_leads(const struct nb_segment *s, const struct nb_seg_comm *c);
/* Returns how many slots of @comm are or were in use (LIVE or GONE). */
uint32_t nb_seg_registered(const struct nb_seg_comm *comm);

#endif
