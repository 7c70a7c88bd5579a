// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_CHANGE_OUTCOME_H
#define NB_PLUGIN_CHANGE_OUTCOME_H

#include <stdint.h>

#include "core/base/sha256.h"
#include "plugin/job/startup.h"

/* The outcome of a change, for the job and for each communicator. */

enum nb_change_state {
	NB_CHANGE_STAGED,
	/* all communicators that can change have changed */
	NB_CHANGE_COMMITTED,
	NB_CHANGE_ABORTED, /* no communicator changed */
	/*
	 * a communicator keeps its generation: while it lives, or if the
	 * profiler names it, until all of its ranks have registered
	 * (nb_change_catch_up); of a change: all communicators do, and only
	 * new ones start with the change
	 */
	NB_CHANGE_UNCHANGEABLE
};

/* Outcome of a change for one communicator. */
struct nb_change_comm {
	/* identity of the communicator, or 0 if NCCL gives none */
	uint64_t comm_id;
	/* number of the first decision with the new generation */
	uint64_t fence;
	enum nb_change_state state;
	/* number of ranks, and of those that have reached the fence */
	uint32_t ranks, passed;
	/*
	 * ranks that have yet to reach the fence: bit i is the rank in slot i
	 */
	uint64_t behind;
	uint32_t tries; /* number of fences that the change has armed */
	/* why the communicator did not change, or "" */
	char why[NB_STARTUP_WHY];
};

enum { NB_CHANGE_COMMS = 256 };

struct nb_change {
	uint8_t digest[NB_SHA256_SIZE];
	enum nb_change_state state;
	/* number of the generation; 0 while staged or aborted */
	uint64_t generation;
	/*
	 * number of the generation that commands show (nb_history_number): in a
	 * fleet, the fleet's number
	 */
	uint64_t shown;
	/* from the start of the commit until the last fence was decided */
	uint64_t time_us;
	/* why no communicator can change, if NCCL has not loaded the tuner */
	char why[400];
	uint32_t ncomms;
	struct nb_change_comm comm[NB_CHANGE_COMMS];
};

#endif
