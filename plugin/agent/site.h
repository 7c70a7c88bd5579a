// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_AGENT_SITE_H
#define NB_PLUGIN_AGENT_SITE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/jobseg/format.h"

struct nb_segment;

/*
 * The site's segment: what its ranks are and have announced, and the copies of
 * the fleet's records, which only the agent writes. One thread.
 */

/* What the agent knows of entry @i of the segment. */
struct nb_site_comm {
	uint64_t comm_id;
	uint64_t word, back; /* word and fallback in the copy */
	int64_t copied;	     /* revision of the copied record; 0: none */
	int64_t mod;	     /* copied, once a barrier followed: the answer */
	uint64_t announced;  /* highest announcement, measured... */
	uint64_t at_us;	     /* ...at this time */
	uint64_t per_s;	     /* decisions a second before that time */
};

struct nb_site {
	struct nb_segment *seg;
	struct nb_site_comm comm[NB_SEG_COMMS];
};

/* Is entry @i a communicator that, as this agent knows, other sites share? */
bool nb_site_shared(const struct nb_site *s, uint32_t i);

/* Record that etcd has had this communicator's registration since @revision. */
void nb_site_registered(struct nb_site *s, uint32_t i, int64_t revision);

/* Measure how fast the ranks decide. */
void nb_site_measure(struct nb_site *s);

/*
 * nb_site_copy - write a record to this site's copies of it
 * @record: value of order/record/COMM, made at revision @made, now of @mod
 *
 * True: done, or this site has no such communicator; false: the segment is
 * busy, try again. nb_site_barrier must follow before the ranks are read.
 */
bool nb_site_copy(struct nb_site *s, uint64_t comm_id, const json_t *record,
		  int64_t made, int64_t mod);
/* False: membarrier(2) is refused, and the site has not answered for what was
 * copied since the last one; try again. */
bool nb_site_barrier(struct nb_site *s);

/* armed: some copy is armed. pending: some rank has yet to switch to a
 * committed generation. */
bool nb_site_armed(const struct nb_site *s);
bool nb_site_pending(const struct nb_site *s);
/* How long a rank has waited at an undecided fence is for the caller to
 * measure: the identity of such a communicator, or 0, and its record's
 * revision. */
uint64_t nb_site_waiting(const struct nb_site *s, int64_t *mod);

/*
 * Values of keys; NULL: no memory.
 *
 * seen:    of all communicators: revision of the copy, announcements, and
 *          how they stand to an armed fence
 * comm:    of one, at comm/COMM/SITE
 * site:    processes, ranks, baseline
 */
json_t *nb_site_seen(const struct nb_site *s);
json_t *nb_site_describe(const struct nb_site *s, uint32_t i);
json_t *nb_site_self(const struct nb_site *s);

/* Digest of the generation that all processes have as their baseline, as 64
 * digits; "": they differ, @why says how. */
void nb_site_baseline(const struct nb_site *s, char digest[65], char *why,
		      size_t size);

/* Tell the ranks' processes why the fleet leaves a communicator to NCCL. */
void nb_site_tell(struct nb_site *s, uint64_t comm_id, const char *why);

#endif
