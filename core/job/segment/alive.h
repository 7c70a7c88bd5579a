// SPDX-License-Identifier: MIT
#ifndef NB_JOB_SEGMENT_ALIVE_H
#define NB_JOB_SEGMENT_ALIVE_H

#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/job/segment/format.h"

/*
 * Who lives in a segment. Each process holds the file lock of its entry while
 * it has the file open: until it dies or executes another program. One system
 * call can query the lock. It also works for processes of other containers,
 * whose PIDs mean nothing here.
 */

/* The lock of entry @i, for F_OFD_SETLK and F_OFD_GETLK. */
struct flock nb_seg_entry_lock(uint32_t i);

/* NB_QUICK may report a dead process as living. */
enum nb_care { NB_QUICK, NB_THOROUGH };
/*
 * Returns true if the process of entry @i, whose contents are @p, in file @fd
 * (-1: private memory) is alive. It does not work for the entry of an @fd of
 * ours, because a query does not show our own lock. @ns: nb_pid_namespace
 */
bool nb_seg_entry_alive(int fd, uint32_t i, const struct nb_seg_proc *p, uint64_t ns,
			enum nb_care care);

enum nb_seg_use {
	NB_SEG_UNUSED,	/* no registered process is alive, or it is no segment */
	NB_SEG_USED,	/* a process is alive */
	NB_SEG_FOREIGN, /* a process is alive, and has another version */
	NB_SEG_UNKNOWN	/* there is no memory to find out */
};
/* Find out who uses the segment file @fd. */
enum nb_seg_use nb_seg_use_of(int fd);
/* Returns true if a process of the job uses the file: not the agent alone. */
bool nb_seg_has_job(int dirfd, const char *name);
/*
 * Returns true if a process uses the segment file @name in directory @dirfd.
 * *@place is the segment's place; 0 if the segment has another version.
 */
bool nb_seg_file_used(int dirfd, const char *name, uint64_t *place);

#endif
