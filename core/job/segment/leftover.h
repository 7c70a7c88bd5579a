// SPDX-License-Identifier: MIT
#ifndef NB_JOB_SEGMENT_LEFTOVER_H
#define NB_JOB_SEGMENT_LEFTOVER_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Segments of jobs that ended without removing them, because they were killed.
 * They are kept for post-mortem analysis (check agreement segment=FILE), within
 * limits.
 */
struct nb_leftovers {
	uint32_t n, removed;	       /* segments found, and those removed */
	uint64_t bytes, removed_bytes; /* memory or disk that they take */
};

/*
 * nb_leftovers - find the segments of ended jobs in directory @dirfd
 * @keep: the number of segments that stay, the newest ones
 * @age_s: largest age of a segment that stays, since it was last written
 * @job: only segments of this job; NULL: of all jobs
 *
 * Removes the others, each with its controllers' mailbox. A segment that a
 * living process uses is no leftover, whatever its PID namespace or user. Files
 * with other names stay. UINT32_MAX and UINT64_MAX: remove nothing.
 */
struct nb_leftovers nb_leftovers(int dirfd, uint32_t keep, uint64_t age_s, const char *job);

/*
 * Returns true if the file is a segment, or has nothing yet of what a process
 * was about to write when it was killed. The directory may be one in which the
 * user keeps other files with such names. @unfinished: a file that only lacks
 * the magic number is one, too
 */
bool nb_is_segment(int dirfd, const char *name, bool unfinished);

#endif
