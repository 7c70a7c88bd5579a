// SPDX-License-Identifier: MIT
#ifndef NB_TEST_VGPU_JOB_H
#define NB_TEST_VGPU_JOB_H

#include <stdbool.h>
#include <stddef.h>

enum {
	MAX_RANKS = 64,
	MAX_LOCAL = 28,	    // what one process of virtual GPUs can have
	STOP_GRACE_S = 300, // after a signal, for the loop to end
	EXIT_FAILED = 1,
	EXIT_USAGE = 64,
	STOP = 1 << 30, // in shared.go: no loop after those counted there
};

// ALLGATHERV: a broadcast of each rank, in one group.
enum coll { ALLREDUCE, ALLGATHER, REDUCESCATTER, BROADCAST, REDUCE, SENDRECV, ALLGATHERV };

enum { NCOLL = ALLGATHERV + 1 };

extern const char *const job_coll_name[NCOLL];

enum { MAX_RANK_ENV = 64 };

struct opts {
	int nranks, per_node, factor;
	bool procs, check, hold;
	enum coll colls[NCOLL];
	int ncoll;
	size_t min, max;
	double seconds;
	long loops, pause_ms;
	const char *report;
	const char *rank_env[MAX_RANK_ENV]; // "R:NAME=VALUE"
	int nrank_env;
	int rank, shared_fd; // given to a process of --procs by the first one
};

// Read the arguments; a wrong one ends the process with EXIT_USAGE.
void job_options(struct opts *o, int argc, char **argv);

// Whether a rank's part is its size over the number of ranks.
static inline bool job_in_parts(enum coll c)
{
	return c == ALLGATHER || c == ALLGATHERV || c == REDUCESCATTER;
}

// Set the variables of --rank-env in the environment of @rank.
void job_rank_env(const struct opts *o, int rank);

// --check: @bytes of what @rank sends, to be freed; NULL when memory is out.
float *job_pattern(int rank, size_t bytes);

// Elements that @rank receives from a collective whose count is @n.
size_t job_received(enum coll c, int rank, int nranks, size_t n);

// --check: is what @rank has received from a collective with count @n what the
// patterns make? Prints the first wrong element, with @what, and returns -1.
int job_compare(const struct opts *o, enum coll c, int rank, const float *got, size_t n,
		const char *what);

#endif
