// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_RUNTIME_JOBDIR_H
#define NB_PLUGIN_RUNTIME_JOBDIR_H

#include <limits.h>
#include <stdbool.h>

#include "core/base/err.h"

/*
 * Where a process meets its shells and the other processes of its job: the
 * directory of sockets and segments, and the names of job and rank that make
 * file names (docs/protocol.md, "Where").
 */
enum { NB_JOBDIR_JOB = 65, NB_JOBDIR_SUN = 108 };

struct nb_jobdir {
	int dirfd; /* the checked directory; everything goes through it */
	int rank;  /* -1: the launcher does not say */
	char dir[PATH_MAX];
	char job[NB_JOBDIR_JOB];
};

/* Gets one line for each candidate directory that was passed over. */
typedef void nb_jobdir_say_fn(void *arg, const char *line);

/*
 * nb_jobdir_open - find or make the directory, name job and rank
 * @socket_dir: value of NCCLBPF_SOCKET_DIR, "" when not set
 * @job:        value of NCCLBPF_JOB, "" when not set
 * @say:        may be NULL
 *
 * The first candidate that is a directory and no link, of the effective uid,
 * without access for anybody else; it is made (mode 0700) where it is
 * missing. 0, or NB_E_IO when none can be had: job and rank are set even
 * then, dirfd is -1 and dir empty. Reads the environment.
 */
int nb_jobdir_open(struct nb_jobdir *out, const char *socket_dir,
		   const char *job, nb_jobdir_say_fn *say, void *arg,
		   struct nb_err *err);
/* Closes the descriptor. A zeroed or failed place is fine. */
void nb_jobdir_close(struct nb_jobdir *p);

/*
 * The socket address of file @name in the directory: its path, which
 * /proc/net/unix then shows. False when it is too long, which no socket name
 * of this job is. @path gets NB_JOBDIR_SUN bytes.
 */
bool nb_jobdir_address(const struct nb_jobdir *p, const char *name, char *path);

/*
 * Remove sockets that nobody serves: connecting is refused and the process
 * in the name is gone. Returns how many.
 */
unsigned nb_jobdir_clean(const struct nb_jobdir *p);

/* Do only processes of this host share files of statfs(2)'s f_type @type? */
bool nb_jobdir_shares_memory(long type);

/*
 * Is anybody listening at socket @name? -1: it does not exist; 0: refused;
 * 1: yes, or it cannot be told.
 */
int nb_jobdir_served(const struct nb_jobdir *p, const char *name);

#endif
