// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_CONTROLLER_CONTROLLER_H
#define NB_PLUGIN_CONTROLLER_CONTROLLER_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/base/sha256.h"
#include "core/job/segment/format.h"
#include "plugin/controller/election.h"
#include "plugin/controller/mailbox.h"

/*
 * Controllers (docs/policies.md, "Controllers"; docs/adr/0005). The processes
 * of a job on a host elect one of them. Its control thread asks all processes
 * for their merged maps, runs the controllers on these maps, posts the changes,
 * and commits when all processes have staged the changes. nb_controllers_tick
 * does this in steps and never waits. In a fleet, only the coordinator's site
 * runs controllers, on its own maps, and a change goes to all sites
 * (proposal.h).
 *
 * Only the control thread calls these functions, except nb_controllers_forked.
 */

struct nb_gen;

/*
 * State of a process's controllers. The process posts it in the mailbox.
 */
struct nb_controllers_state {
	uint64_t token; /* of the process (nb_seg_proc) */
	/* counter that grows each time the process posts its state */
	uint64_t beat;
	uint64_t request;     /* number of the request for maps; 0: none yet */
	uint64_t change;      /* number of the change to stage; 0: none */
	uint64_t interval_ns; /* interval that the controllers declare */
	uint64_t runs, changes, failures;
	uint64_t incomplete; /* runs that lacked the maps of some process */
	uint64_t lost;	     /* elements for which a merged map had no room */
	uint64_t run_ns;     /* duration of the controllers' last run */
	uint64_t missing;    /* processes whose maps the last run lacked */
	uint64_t elected_us; /* when this process was elected (nb_wall_us) */
	char error[192];     /* text of the controllers' last failure, or "" */
};

/* Header of a process's answer: the process and the number of the request. */
struct nb_controllers_maps {
	uint64_t token, request;
};

enum nb_controllers_phase {
	NB_CONTROLLERS_IDLE,
	NB_CONTROLLERS_GATHER,
	NB_CONTROLLERS_STAGE,
	/* wait until the fleet's coordinator has made the change */
	NB_CONTROLLERS_FLEET
};

struct nb_controllers {
	struct nb_mailbox mailbox;
	bool mailbox_failed; /* the log has reported that the mailbox failed */
	bool active;	     /* the policies in use have controllers */
	bool elected;
	enum nb_controllers_phase phase;
	uint64_t next_ns, until_ns, looked_ns, posted_ns;
	uint64_t last_run_ns;
	struct nb_controllers_state state;
	/* the current change, from this process or from the elected one */
	uint8_t digest[NB_SHA256_SIZE];
	bool staged;
	/* header of the last answer read from each entry */
	struct nb_controllers_maps have[NB_SEG_PROCS];
	/*
	 * numbers of the elected process's last request and change that this
	 * process handled
	 */
	uint64_t answered, seen;
	/*
	 * nb_election.word of the process whose requests and changes were
	 * handled
	 */
	uint64_t word;
};

/* Make one step. It is cheap if no policy in use has controllers. */
void nb_controllers_tick(void);
/* Returns the milliseconds until the next step is due. */
int nb_controllers_patience(void);
/* Reset the state in a forked child. Async-signal-safe. */
void nb_controllers_forked(void);
/* Resign from the election after the control thread has ended. */
void nb_controllers_resign(void);

/*
 * answers.c defines the five functions below, which read the mailbox.
 *
 * nb_controllers_read_state - read the state that the process of entry @i
 * posted
 *
 * Returns false if there is none, or if an earlier process posted it.
 */
bool nb_controllers_read_state(const struct nb_mailbox *b, const struct nb_seg *mem, uint32_t i,
			       struct nb_controllers_state *out);
/*
 * Post the merged maps of @g as this process's answer to @request. Returns 0 or
 * an error of nb_controllers_pack or nb_mailbox_post.
 */
int nb_controllers_post_maps(struct nb_mailbox *b, const struct nb_segment *s,
			     const struct nb_gen *g, uint64_t request, struct nb_err *err);
/*
 * Merge @m's last answer into @own. An answer to an earlier request counts, too,
 * because sums would fall by all that a late process has ever added, and rise
 * again by as much. Returns false if the process has not answered the current
 * request, or with maps of another policy, because the job's policy has just
 * changed. Counts lost elements in @l->state.lost.
 */
bool nb_controllers_merge_answer(struct nb_controllers *l, struct nb_gen *own,
				 const struct nb_election_other *m);
/*
 * nb_controllers_answered - check whether the process of @entry has answered
 * the request in @head
 *
 * If the header of a posted record matches, it reads the whole record and
 * records the answer in @l.
 */
bool nb_controllers_answered(struct nb_controllers *l, uint32_t entry,
			     const struct nb_controllers_maps *head);
/* Returns how many of @n processes have not answered the request yet. */
int nb_controllers_unanswered(struct nb_controllers *l, const struct nb_election_other *m, int n);

/* State of the controllers for `controller status`. */
struct nb_controllers_info {
	bool wanted; /* the policies in use have controllers */
	bool paused;
	bool here;    /* this process is the elected one */
	uint64_t pid; /* PID of the elected process; 0: none */
	bool known;   /* the elected process has posted its state */
	struct nb_controllers_state state;
};
void nb_controllers_status(struct nb_controllers_info *out);
/*
 * Pause or resume the controllers of the whole job. A pause drops the current
 * round.
 */
void nb_controllers_pause(bool pause);

#endif
