// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_CONTROLLER_ELECTION_H
#define NB_PLUGIN_CONTROLLER_ELECTION_H

#include <stdbool.h>
#include <stdint.h>

#include "plugin/job/segment.h"

/*
 * The election of the process that runs the job's controllers. The result is
 * one word of the segment, which is changed by compare-and-swap. Only the
 * control thread calls these functions, and none of them waits.
 */
struct nb_election {
	/* a value that differs for each holder; 0: no process is elected */
	uint64_t word;
	/* the holder's entry in the segment; NB_SEG_PROCS: none */
	uint32_t entry;
	uint64_t pid; /* of the holder; 0 if it has ended */
	bool paused;  /* the controllers of the whole job are paused */
};
struct nb_election nb_election_read(const struct nb_segment *s);

enum nb_election_result { NB_ELECTION_OTHER, NB_ELECTION_HELD, NB_ELECTION_WON };

/*
 * Elect this process if no process is elected or the elected process is dead.
 * @looked_ns: when the elected process was last checked
 */
enum nb_election_result nb_election_run(struct nb_segment *s, uint64_t *looked_ns);
/* A living process of the job, other than this process. */
struct nb_election_other {
	uint32_t entry; /* the process's entry in the segment */
	uint64_t token;
};

/*
 * List the other living processes in @out, which has room for NB_SEG_PROCS.
 * Agents are left out. Returns their number, or -1 if the segment is busy.
 */
int nb_election_others(struct nb_segment *s, struct nb_election_other *out);
void nb_election_resign(struct nb_segment *s);
void nb_election_pause(struct nb_segment *s, bool pause);

#endif
