// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_RUNTIME_JOBDIR_H
#define NB_PLUGIN_RUNTIME_JOBDIR_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/base/err.h"

/*
 * The job directory contains the sockets and segments of the user's jobs. Its
 * file names contain the names of job and rank (docs/protocol.md, "Sockets").
 */
enum { NB_JOBDIR_JOB = 65, NB_JOBDIR_SUN = 108 };

struct nb_jobdir {
	/* the checked directory, relative to which files are opened */
	int dirfd;
	int rank;  /* the rank that the launcher has set; -1: unknown */
	int ranks; /* how many ranks it has started; -1: unknown */
	char dir[PATH_MAX];
	char job[NB_JOBDIR_JOB];
};

/* Receives one line for each rejected directory. */
typedef void nb_jobdir_say_fn(void *arg, const char *line);

/* The candidates for the directory, in their order. */
enum { NB_JOBDIR_CANDIDATES = 4 };
struct nb_jobdir_search {
	const char *socket_dir; /* value of NCCLBPF_SOCKET_DIR, or "" */
	const char *job;	/* value of NCCLBPF_JOB, or "" */
	nb_jobdir_say_fn *say;	/* may be NULL */
	void *arg;
};

/*
 * nb_jobdir_try - open candidate @i, and determine job and rank
 * @make: create the directory if it is missing
 *
 * The candidate must be a directory, not a link, belong to the effective user
 * and give no access to others. Its mode is 0700 if it is created. Returns
 * false if it cannot be used; @out->dirfd is then -1. It reads the environment.
 */
bool nb_jobdir_try(const struct nb_jobdir_search *s, unsigned i, bool make, struct nb_jobdir *out);
/* Report that directory @dir is not used, and why. */
void nb_jobdir_pass_over(const struct nb_jobdir_search *s, const char *dir, const char *why);
/*
 * Find or create the first candidate that can be used. Returns 0, or NB_E_IO if
 * all candidates fail: job and rank are then set, dirfd is -1 and dir is empty.
 */
int nb_jobdir_first(const struct nb_jobdir_search *s, struct nb_jobdir *out, struct nb_err *err);
/* The same, with the search in separate arguments. */
int nb_jobdir_open(struct nb_jobdir *out, const char *socket_dir, const char *job,
		   nb_jobdir_say_fn *say, void *arg, struct nb_err *err);
/*
 * Create the directory again if it was deleted. The number of its descriptor
 * stays the same. Returns 0 or NB_E_IO.
 */
int nb_jobdir_again(const struct nb_jobdir *p, struct nb_err *err);
/* Close the directory's descriptor. The structure may be all zeroes. */
void nb_jobdir_close(struct nb_jobdir *p);

/*
 * Get the socket address of file @name in the directory. It is the real path,
 * which /proc/net/unix shows. @path has room for NB_JOBDIR_SUN bytes. Returns
 * false if the path is too long, which no socket name of this job is.
 */
bool nb_jobdir_address(const struct nb_jobdir *p, const char *name, char *path);

/*
 * Remove stale sockets: those that refuse a connection and whose process is
 * dead. Returns their number.
 */
unsigned nb_jobdir_clean(const struct nb_jobdir *p);

/* A process, as the name of its control socket identifies it. */
struct nb_jobdir_process {
	uint64_t ns; /* inode of its PID namespace (nb_pid_namespace) */
	int pid;     /* its PID in that namespace */
	int rank;    /* -1: unknown */
};
enum { NB_JOBDIR_NAME = NB_JOBDIR_JOB + 40 };
/* Write the name of the socket of @of: "<job>.<rank>.<namespace>.<pid>.sock" */
void nb_jobdir_name(const struct nb_jobdir *p, const struct nb_jobdir_process *of,
		    char name[NB_JOBDIR_NAME]);
/* Returns false if @name is not the name of a socket of the job. */
bool nb_jobdir_parse(const struct nb_jobdir *p, const char *name, struct nb_jobdir_process *of);

/*
 * Returns true if only processes of this kernel can map files of this file
 * system type (f_type of statfs(2)).
 */
bool nb_jobdir_shares_memory(long type);

/*
 * Check whether a process serves socket @name. Returns -1 if the socket does
 * not exist, 0 if it refuses a connection, 1 if a process serves it or this is
 * not known.
 */
int nb_jobdir_served(const struct nb_jobdir *p, const char *name);

#endif
