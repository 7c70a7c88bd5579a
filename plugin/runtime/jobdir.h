// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_RUNTIME_JOBDIR_H
#define NB_PLUGIN_RUNTIME_JOBDIR_H

#include <limits.h>
#include <stdbool.h>

#include "core/base/err.h"

/*
 * The job directory holds the sockets and segments of the user's jobs. File
 * names in it contain the names of job and rank (docs/protocol.md, "Sockets").
 */
enum { NB_JOBDIR_JOB = 65, NB_JOBDIR_SUN = 108 };

struct nb_jobdir {
	int dirfd; /* the checked directory; files are opened relative to it */
	int rank;  /* -1: the launcher does not say */
	char dir[PATH_MAX];
	char job[NB_JOBDIR_JOB];
};

/* Receives one line for each rejected directory. */
typedef void nb_jobdir_say_fn(void *arg, const char *line);

/*
 * nb_jobdir_open - find or make the directory, name job and rank
 * @socket_dir: value of NCCLBPF_SOCKET_DIR, "" when not set
 * @job:        value of NCCLBPF_JOB, "" when not set
 * @say:        may be NULL
 *
 * Takes the first candidate that is a directory, no link, belongs to the
 * effective uid and gives nobody else access. Makes a missing one (mode 0700).
 * 0, or NB_E_IO if all candidates fail: job and rank are set, dirfd is -1 and
 * dir empty. Reads the environment.
 */
int nb_jobdir_open(struct nb_jobdir *out, const char *socket_dir,
		   const char *job, nb_jobdir_say_fn *say, void *arg,
		   struct nb_err *err);
/* Close the descriptor. A zeroed struct is fine. */
void nb_jobdir_close(struct nb_jobdir *p);

/*
 * The socket address of file @name in the directory. It is the real path, so
 * /proc/net/unix shows it. @path gets NB_JOBDIR_SUN bytes. False: the path is
 * too long; no socket name of this job is.
 */
bool nb_jobdir_address(const struct nb_jobdir *p, const char *name, char *path);

/*
 * Remove stale sockets: connecting is refused and the process in the name is
 * gone. Returns their number.
 */
unsigned nb_jobdir_clean(const struct nb_jobdir *p);

/* Is @type (f_type of statfs(2)) a file system that no other host shares? */
bool nb_jobdir_shares_memory(long type);

/*
 * Does a process serve socket @name? -1: the socket does not exist; 0: it
 * refuses; 1: yes, or unknown.
 */
int nb_jobdir_served(const struct nb_jobdir *p, const char *name);

#endif
