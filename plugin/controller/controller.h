// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_CONTROLLER_CONTROLLER_H
#define NB_PLUGIN_CONTROLLER_CONTROLLER_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/base/sha256.h"
#include "core/jobseg/format.h"
#include "plugin/controller/mailbox.h"

/*
 * Controllers (docs/policies.md, "Controllers"; docs/adr/0005). The processes
 * of a job on a host elect one by a word of the segment. Its control thread
 * asks all processes for their merged maps, runs the controllers on them, posts
 * their changes, and commits when all have staged these. nb_controllers_turn
 * does this in steps, and never waits.
 *
 * Control thread only, except nb_controllers_forked.
 */

/* The state of a process's controllers: a sheet of the mailbox. */
struct nb_controllers_state {
	uint64_t pid, start;  /* the process's, see nb_seg_proc */
	uint64_t beat;	      /* incremented with each posting */
	uint64_t request;     /* number of the request for maps; 0: none yet */
	uint64_t change;      /* number of the change to stage; 0: none */
	uint64_t interval_ns; /* the interval that the controllers declare */
	uint64_t runs, changes, failures;
	uint64_t incomplete; /* runs without the maps of some process */
	uint64_t lost;	     /* elements for which a merged map had no room */
	uint64_t run_ns;     /* duration of the last run */
	uint64_t missing;    /* processes without maps in the last run */
	uint64_t elected_us; /* nb_wall_us */
	char error[192];     /* text of the last failure; "" */
};

/* The header of an answer: process and request. */
struct nb_controllers_maps {
	uint64_t pid, start, request;
};

enum nb_controllers_phase {
	NB_CONTROLLERS_IDLE,
	NB_CONTROLLERS_GATHER,
	NB_CONTROLLERS_STAGE
};

struct nb_controllers {
	struct nb_mailbox board;
	bool board_failed; /* logged once */
	bool active;	   /* policies in use have controllers */
	bool elected;
	bool rests; /* logged: changes are slowed down */
	enum nb_controllers_phase phase;
	uint64_t next_ns, until_ns, looked_ns, posted_ns;
	uint64_t last_run_ns;
	struct nb_controllers_state state;
	/* the current change, ours or of the elected process */
	uint8_t digest[NB_SHA256_SIZE];
	bool staged;
	/* the last answer read from each entry */
	struct nb_controllers_maps have[NB_SEG_PROCS];
	uint64_t answered, seen; /* requests and changes of the elected process
				    that were handled */
	uint64_t word; /* nb_election.word of the process counted there */
};

/* One step. Cheap if no policy in use has controllers. */
void nb_controllers_turn(void);
/* Milliseconds until the next step is due. */
int nb_controllers_patience(void);
/* After a fork, in the child; async-signal-safe. */
void nb_controllers_forked(void);
/* After the control thread's end: resign from the election. */
void nb_controllers_end(void);

/*
 * nb_controllers_answered - has the process of @entry answered the request of
 * @head?
 *
 * Reads a sheet completely once its header matches, and remembers that in @l.
 */
bool nb_controllers_answered(struct nb_controllers *l, uint32_t entry,
			     const struct nb_controllers_maps *head);

/*
 * nb_controllers_rest_ns - least time between two changes of controllers
 * @next_gen: the number that the job's next generation gets
 *
 * Zero while half of the numbers are left: 11 hours with a change every 20 ms.
 * Then the time grows, so that each 8 weeks use two thirds of the remaining
 * numbers. Controllers alone need at least 11 months to use up all numbers.
 */
uint64_t nb_controllers_rest_ns(uint64_t next_gen);

/* The state for `controller status`. */
struct nb_controllers_info {
	bool wanted; /* policies in use have controllers */
	bool paused;
	bool here;    /* this process is elected */
	uint64_t pid; /* the elected one; 0: none */
	bool known;   /* state was posted by that process */
	struct nb_controllers_state state;
};
void nb_controllers_status(struct nb_controllers_info *out);
/* Pause or resume the controllers of the whole job. A pause drops the current
 * round. */
void nb_controllers_pause(bool pause);

#endif
