// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_AGENT_SITE_SITE_H
#define NB_PLUGIN_AGENT_SITE_SITE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/job/segment/format.h"

struct nb_segment;

/*
 * The segment of a site: what its ranks have announced, and the copies of the
 * fleet's records. Only the agent writes the copies, in one thread.
 */

/* What the agent knows of communicator entry @i of the segment. */
struct nb_site_comm {
	uint64_t comm_id;
	uint64_t word, back; /* the copy's fence word and its fallback word */
	/* revision and id of the copied record; 0 if there is none */
	int64_t copied, id;
	bool again; /* a site has written the copied record again */
	/*
	 * @copied and @id at the latest membarrier; the site may answer for
	 * these
	 */
	int64_t mod, seen_id;
	/*
	 * revision of the record that the agent last asked the store to
	 * replace; 0: none; LOST_KEY (agent.c): the store had none
	 */
	int64_t asked;
	uint64_t again_ms; /* when the store last got the outcome again */
	/* announced: the highest announcement of the ranks at time at_us */
	uint64_t announced;
	/* time of the measurement of announced, in microseconds */
	uint64_t at_us;
	/* decisions per second that the ranks made before at_us */
	uint64_t per_s;
};

struct nb_site {
	struct nb_segment *seg;
	struct nb_site_comm comm[NB_SEG_COMMS];
};

/*
 * Returns true if the agent knows that the communicator of entry @i has ranks
 * on other sites.
 */
bool nb_site_shared(const struct nb_site *s, uint32_t i);

/* Record that the store has the communicator's registration since @revision. */
void nb_site_registered(struct nb_site *s, uint32_t i, int64_t revision);

/*
 * Forget registrations after revision @revision, to which the store has gone
 * back: they must be made again.
 */
void nb_site_forget(struct nb_site *s, int64_t revision);

/*
 * nb_site_lost returns true if the store has lost the record of which entry @i
 * has a copy. nb_site_missing: the store has no such record.
 * nb_site_suspect: the store has gone back to an earlier revision. It may have
 * lost the outcome of an armed record, so all sites write what they have copied
 * again. nb_site_outcome_lost returns true if the copy is such an armed record,
 * until it gets an outcome.
 */
bool nb_site_lost(const struct nb_site *s, uint32_t i);
bool nb_site_outcome_lost(const struct nb_site *s, uint32_t i);
void nb_site_missing(struct nb_site *s, uint32_t i);
void nb_site_suspect(struct nb_site *s);

/* Measure how many decisions per second the ranks make. */
void nb_site_measure(struct nb_site *s);

/*
 * nb_site_copy - write a record into this site's copies of it
 * @record: value of order/record/COMM
 * @made: revision at which the record was created
 * @mod: revision of its last change
 *
 * A record that does not follow the copy is not copied: the store has lost one
 * (nb_site_lost). Returns true if the copy is written or not to be written.
 * Returns false if the segment is busy: try again. Call nb_site_barrier before
 * reading the ranks.
 */
bool nb_site_copy(struct nb_site *s, uint64_t comm_id, const json_t *record, int64_t made,
		  int64_t mod);
/*
 * Returns the record that the site has copied, for a store that has lost it or
 * its outcome. @over: id of the armed record that it replaces; 0: none.
 *
 * An outcome keeps its id. An armed record gets another one, so that an answer
 * for it is newer than the loss: a site that knows the outcome writes the
 * outcome again, instead of answering. If all sites answer, nobody knows it, and
 * the coordinator rolls the record back (nb_target_answered).
 *
 * Returns NULL if the copy is armed and another fence is, which ends by itself,
 * or if the agent before this one died while it wrote the copy.
 */
json_t *nb_site_again(const struct nb_site *s, uint32_t i, int64_t over);
/*
 * Run membarrier(2) after writing copies. Returns false if the kernel refuses;
 * the site then must not answer for these copies, and tries again.
 */
bool nb_site_barrier(struct nb_site *s);

/*
 * nb_site_armed returns true if a copy is armed. nb_site_pending returns true
 * if some rank has yet to switch to a committed generation.
 */
bool nb_site_armed(const struct nb_site *s);
bool nb_site_pending(const struct nb_site *s);
/*
 * Returns the first entry, at @from or after it, of a communicator with a rank
 * that waits at an undecided fence; NB_SEG_COMMS if there is none. The caller
 * measures how long the rank waits.
 */
uint32_t nb_site_waiting(const struct nb_site *s, uint32_t from);

/*
 * Values of store keys; NULL if there is no memory.
 *
 * nb_site_seen: of all communicators, the revision of the copy, the
 * announcements, and the position relative to an armed fence
 * nb_site_describe: of communicator @i, for key comm/COMM/SITE
 * nb_site_self: processes, ranks and baseline of the site
 */
json_t *nb_site_seen(const struct nb_site *s);
json_t *nb_site_describe(const struct nb_site *s, uint32_t i);
json_t *nb_site_self(const struct nb_site *s);

/*
 * Write the digest of the baseline that all processes share, as 64 hexadecimal
 * digits. If baselines differ, @digest is "" and @why explains the difference.
 */
void nb_site_baseline(const struct nb_site *s, char digest[65], char *why, size_t size);

/*
 * Returns the number of processes that lack the site's generation, because they
 * started after the change that made it.
 */
unsigned nb_site_late(const struct nb_site *s);

/*
 * Tell the ranks' processes why the fleet leaves communicator @comm_id to NCCL.
 */
void nb_site_tell(struct nb_site *s, uint64_t comm_id, const char *why);

#endif
