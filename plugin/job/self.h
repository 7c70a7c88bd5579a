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
 * This process as a member of its job. Written while the process starts, and
 * again in a forked child; constant between.
 */
struct nb_self {
	/* Directory of sockets and segment, job and rank; without a directory
	 * dirfd is -1 and dir_err says why. */
	struct nb_jobdir dir;
	struct nb_err dir_err;
	char host[256];
	pid_t pid;
	uint64_t started_ns;	/* CLOCK_MONOTONIC */
	struct nb_segment *seg; /* NULL in a forked child that NCCL has not
				 * called, and before the start */
};
extern struct nb_self nb_self;

/* Fill in pid, host and start time, and open the job directory. */
void nb_self_open(void);
/*
 * Attach to the job's segment and enter there the settings that all processes
 * must have alike. @control: this process has a control socket.
 */
int nb_self_attach(bool control, struct nb_err *err);
/* The control socket that nb_self_attach announced cannot be made. */
void nb_self_no_control(void);
void nb_self_close(void);

/* The segment as `status` shows it. */
struct nb_segment_info {
	char path[PATH_MAX + 80]; /* "" when not shared */
	bool shared;
	uint32_t processes; /* the job's living processes on this host */
	bool membarrier;    /* decisions need no memory fence of their own */
	char why[256];	    /* why it is not shared; "" */
};
void nb_self_segment(struct nb_segment_info *out);

#endif
