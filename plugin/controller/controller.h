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
 * The closed loop (docs/policies.md, "Controllers"; docs/adr/0005). The
 * processes of a job on a host elect one, by a word of the segment; its
 * control thread asks all for their merged maps, runs the controllers on what
 * came, posts what they changed, and commits it when all have staged it. All
 * of it is done in turns of nb_controllers_turn that wait for nobody.
 *
 * Everything here is the control thread's but for nb_controllers_forked.
 */

/* What a process says of its controllers: a sheet of the board. */
struct nb_controllers_state {
	uint64_t pid, start;  /* of the process, as in the segment */
	uint64_t beat;	      /* one more with each posting */
	uint64_t request;     /* maps are asked for; 0: not yet */
	uint64_t change;      /* a change is to be staged; 0: none */
	uint64_t interval_ns; /* as the controllers want it */
	uint64_t runs, changes, failures;
	uint64_t incomplete; /* runs without the maps of some process */
	uint64_t lost;	     /* elements that found no room when merged */
	uint64_t run_ns;     /* the last run took */
	uint64_t missing;    /* processes it went without */
	uint64_t elected_us; /* nb_wall_us */
	char error[192];     /* of the last failure; "" */
};

/* What stands before the maps of an answer: whose it is, and to what. */
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
	bool board_failed; /* said once */
	bool active;	   /* policies in use have controllers */
	bool elected;
	bool rests; /* said once: nb_controllers_rest_ns is not zero any more */
	enum nb_controllers_phase phase;
	uint64_t next_ns, until_ns, looked_ns, posted_ns;
	uint64_t last_run_ns;
	struct nb_controllers_state state;
	/* the change under way, or as staged for another */
	uint8_t digest[NB_SHA256_SIZE];
	bool staged;
	/* by entry: the last answer that was read there */
	struct nb_controllers_maps have[NB_SEG_PROCS];
	uint64_t answered, seen; /* requests and changes of the elected one */
	uint64_t word;		 /* when they were seen: whose they are */
};

/* A turn: a look at a few words where no policy in use has a controller. */
void nb_controllers_turn(void);
/* Milliseconds until the next turn ought to be. */
int nb_controllers_patience(void);
/* After a fork, in the child; async-signal-safe. */
void nb_controllers_forked(void);
/* When the control thread has ended: give up the election. */
void nb_controllers_end(void);

/*
 * nb_controllers_answered - is there an answer at @entry, by that process to
 * that request?
 *
 * A sheet is read whole when it begins as @head, and then no more until all
 * have come: @l remembers it, for this process and request alone.
 */
bool nb_controllers_answered(struct nb_controllers *l, uint32_t entry,
			     const struct nb_controllers_maps *head);

/*
 * nb_controllers_rest_ns - least time between two changes of controllers
 * @next_gen: the number that the job's next generation gets
 *
 * None while half of the numbers are left: 11 hours with a change every 20 ms.
 * Then so long that of what is left two thirds are used in 8 weeks, of the
 * rest two thirds in 8 more. So controllers alone use up the numbers in no
 * less than 11 months.
 */
uint64_t nb_controllers_rest_ns(uint64_t next_gen);

/* What stands, for people. */
struct nb_controllers_info {
	bool wanted; /* policies in use have controllers */
	bool paused;
	bool here;    /* this process is elected */
	uint64_t pid; /* the elected one; 0: none */
	bool known;   /* state is what that one posted last */
	struct nb_controllers_state state;
};
void nb_controllers_status(struct nb_controllers_info *out);
/* No runs from now on, in the whole job; or again. What is under way is
 * dropped. */
void nb_controllers_pause(bool pause);

#endif
