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
	int dirfd; /* directory of its file; -1: none */
	char name[128];
	bool shared;
	bool stranger;	 /* others share one that we cannot use */
	bool membarrier; /* decisions here rely on a coordinator's membarrier */
	uint32_t proc;	 /* its own entry */
	uint64_t ns;	 /* its PID namespace; 0: unknown */
	char why[256];	 /* why it is not shared */
	pthread_mutex_t mutex;
};

/*
 * nb_segment_open - map the segment of @job, for nb_segment_attach
 *
 * A shared segment comes locked: nb_segment_opened releases it. Falls back to
 * private memory and says why in (*out)->why. NB_E_NOMEM.
 */
int nb_segment_open(struct nb_segment **out, int dirfd, const char *job,
		    bool membarrier, struct nb_err *err);
void nb_segment_opened(struct nb_segment *s);
/*
 * No entry is free: leave a mark for the others, unmap the segment, and take
 * private memory. NB_E_NOMEM: @s has no memory.
 */
int nb_segment_full(struct nb_segment *s, struct nb_err *err);
/* In a forked child, and after nb_segment_open: unmap, close and free. The
 * process stays registered. NULL is fine. */
void nb_segment_abandon(struct nb_segment *s);

/*
 * The lock: of this process's threads and of the job's processes, released by
 * the kernel when its holder dies. NB_E_BUSY when it cannot be had in
 * @timeout_ms. Not recursive. Its place in the order of locks: lock.h.
 */
int nb_segment_lock(struct nb_segment *s, uint32_t timeout_ms,
		    struct nb_err *err);
void nb_segment_unlock(struct nb_segment *s);

/* Take a free entry for this process; false: none is free. */
bool nb_segment_enter(struct nb_segment *s, uint32_t flags);
/*
 * Remove the file if no process is registered. A process that died stays
 * registered, so its data can be read until the next job of that name starts.
 */
void nb_segment_remove_if_last(const struct nb_segment *s);

/*
 * Take a zeroed ring for the rank at @slot of @comm. Others can read it even
 * after this process dies. NULL: no shared segment, all rings in use, or the
 * file system is full. The rank owns it until its entry is reused.
 */
struct nb_packed *nb_segment_ring(struct nb_segment *s,
				  struct nb_seg_comm *comm, uint32_t slot);

/* The segment as core/jobseg reads it, to compare ranks. Nothing to free. */
struct nb_job nb_segment_job(const struct nb_segment *s);
/* Full barrier on every CPU that runs a registered process's thread; false:
 * refused here. */
bool nb_segment_membarrier(const struct nb_segment *s);

/*
 * Does the process of entry @i live? Not for our own entry, since our own lock
 * does not show. NB_QUICK may take a dead process for a living one.
 */
enum nb_care { NB_QUICK, NB_THOROUGH };
bool nb_segment_entry_alive(const struct nb_segment *s, uint32_t i,
			    enum nb_care care);
/* Slots of @comm that are in use or were: LIVE and GONE. */
uint32_t nb_seg_registered(const struct nb_seg_comm *comm);

#endif
