// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_JOB_SELF_H
#define NB_PLUGIN_JOB_SELF_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "plugin/job/segment.h"
#include "plugin/runtime/jobdir.h"

/*
 * This process as a member of its job. The fields are written at process start
 * and in a forked child, and are otherwise constant.
 */
struct nb_self {
	/*
	 * Job directory, which contains sockets and segment; also job name and
	 * rank. If there is no directory, dirfd is -1 and dir_err says why.
	 */
	struct nb_jobdir dir;
	struct nb_err dir_err;
	char passed_over[400]; /* first directory that is not used, and why */
	char host[256];
	pid_t pid;
	uint64_t started_ns; /* when this process started (CLOCK_MONOTONIC) */
	/*
	 * the job segment; NULL before the start, and in a forked child that
	 * NCCL has not called
	 */
	struct nb_segment *seg;
};
extern struct nb_self nb_self;

/* Set PID, host and start time. */
void nb_self_open(void);
/*
 * Choose the job directory, attach to the job's segment there, and publish the
 * settings that all processes must have in common. @control: this process has a
 * control socket if there is a directory
 */
int nb_self_attach(bool control, struct nb_err *err);
/* Withdraw the announced control socket, because it could not be created. */
void nb_self_no_control(void);
/* Detach from the segment and the job directory, and free them. */
void nb_self_close(void);
/* Leave the job at exit, but free nothing. */
void nb_self_leave(void);
/*
 * A rank registers, perhaps in a thread that goes on at exit: returns false if
 * this process has left its job and no entry is free. The caller holds the
 * segment's lock.
 */
bool nb_self_enter(void);

/* The segment's state, as `status` shows it. */
struct nb_segment_info {
	/* path of the file; "" if the segment is not shared */
	char path[PATH_MAX + 80];
	bool shared;
	uint32_t processes; /* living processes of the job on this host */
	bool membarrier;    /* decisions need no memory fence of their own */
	char why[256];	    /* why the segment is not shared, or "" */
};
void nb_self_segment(struct nb_segment_info *out);

#endif
