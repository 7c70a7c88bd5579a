// SPDX-License-Identifier: MIT
#ifndef NB_TEST_FLEET_SITE_H
#define NB_TEST_FLEET_SITE_H

#include "plugin/agent/site/state.h"

/* A record as the ranks read it. */
struct sim_word {
	bool armed, commit; /* neither: there is no record, or it has no change */
	int64_t n;
	uint64_t fence;
};

/*
 * Sites without processes, for the real agent of plugin/agent. This module
 * takes the place of plugin/agent/site/site.c (the segment) and procs.c (requests
 * to processes). All ranks of a site share one state, because they decide
 * alike; all sites share one communicator.
 */
struct sim {
	struct nb_agent agent;
	struct nb_coord *coord;
	struct nb_segment *seg;
	uint64_t announced;   /* number of the latest decision + 1 */
	bool waits;	      /* at an undecided fence */
	bool decided;	      /* the latest decision */
	struct sim_word word; /* the copy, and what it was before it was armed */
	struct sim_word back;
	int64_t generation; /* that the ranks have */
	char baseline[65];
	uint64_t due; /* milliseconds: the agent's next turn */
};

/* The job: sizes, and what its ranks have met. */
struct sim_job {
	int64_t nranks, ranks; /* of the communicator; of each site */
	uint64_t per_s;	       /* decisions of a rank */
	uint64_t waits;	       /* of sites at undecided fences */
};
extern struct sim_job sim_job;

/* False: no memory. */
bool sim_open(struct sim *s);
/* The ranks of @s try to make decision @n; false: they wait at a fence. */
bool sim_decide(struct sim *s, uint64_t n);

#endif
