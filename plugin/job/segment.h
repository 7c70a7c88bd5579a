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
#include "core/jobseg/agree.h"
#include "core/jobseg/format.h"

/* A process's mapping of the segment. */
struct nb_segment {
	struct nb_seg *mem;
	int fd;	   /* -1: private memory */
	int dirfd; /* of the directory with its file; -1: none */
	char name[128];
	bool shared;
	bool stranger;	 /* others share a segment that this process cannot */
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
/* Unregister this process and unmap the segment. NULL is fine. */
void nb_segment_detach(struct nb_segment *s);
/* In a forked child: unmap, close and free, leave the parent registered. */
void nb_segment_abandon(struct nb_segment *s);

/*
 * The lock: of this process's threads and of the job's processes, released by
 * the kernel when its holder dies. NB_E_BUSY when it cannot be had in
 * @timeout_ms. Not recursive. Its place in the order of locks: lock.h.
 */
int nb_segment_lock(struct nb_segment *s, uint32_t timeout_ms,
		    struct nb_err *err);
void nb_segment_unlock(struct nb_segment *s);

/* ---- with the lock ---- */

/* Remove processes that died, with their slots and communicators. */
void nb_segment_reap(struct nb_segment *s);
/* Living processes. */
uint32_t nb_segment_procs(const struct nb_segment *s);

/*
 * A zeroed ring for the rank at @slot of @comm, which others can read even
 * after this process dies. NULL: no shared segment, all rings in use, or the
 * file system is full. The rank owns it until its entry is reused.
 */
struct nb_packed *nb_segment_ring(struct nb_segment *s,
				  struct nb_seg_comm *comm, uint32_t slot);
/* ---- without the lock ---- */

/* The segment as core/jobseg reads it, to compare ranks. Nothing to free. */
struct nb_job nb_segment_job(const struct nb_segment *s);
/* Full barrier on every CPU that runs a registered process's thread; false:
 * refused here. */
bool nb_segment_membarrier(const struct nb_segment *s);

/* Is the process of that start time alive (a zombie is not)? */
bool nb_process_alive(uint64_t pid, uint64_t start);
/* Start time of a process, 0 when it cannot be told. */
uint64_t nb_process_start(pid_t pid);

#endif
