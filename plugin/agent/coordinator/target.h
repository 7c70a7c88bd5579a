// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_AGENT_COORDINATOR_TARGET_H
#define NB_PLUGIN_AGENT_COORDINATOR_TARGET_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plugin/agent/keys/view.h"

/*
 * The communicators with ranks on several sites: which of them a change moves,
 * at which fence, and how far their ranks are from it. The functions use only
 * the view and have no side effects.
 */
struct nb_target {
	/* key of the communicator's record in the store: order/record/COMM */
	char record[40];
	char comm[17];
	int64_t mod; /* revision of the record; 0 if there is none */
	/* ids of the record, and of the one that is being written */
	int64_t id, next;
	json_t *back; /* contents of the record before it was armed, or NULL */
	uint64_t fence;
	uint32_t ranks, sites;
	/*
	 * Names of the sites as they were found. A site's keys disappear when
	 * its agent's lease ends, while its ranks continue.
	 */
	char **site;
	char state[16]; /* state that the outcome wrote to the record */
	/*
	 * why the fleet leaves the communicator to NCCL; "" if the change moves
	 * it
	 */
	char why[200];
};

struct nb_targets {
	struct nb_target *at;
	size_t n;
	unsigned same; /* number of communicators that the change leaves out */
};

/* most communicators in one change; each needs two store operations */
enum { NB_TARGETS = 60 };

/*
 * Find the communicators that a change to @digest moves. It leaves out those
 * that have this generation, and leaves those beyond NB_TARGETS for a later
 * change. Returns false, with no communicator, if there is no memory.
 */
bool nb_targets_find(struct nb_targets *t, const struct nb_view *v, const char *digest);
void nb_targets_free(struct nb_targets *t);

/*
 * Returns true if fences may be armed. While ranks move towards an earlier
 * fence it returns false, with the reason in @why.
 */
bool nb_targets_ready(const struct nb_targets *t, const struct nb_view *v, char *why, size_t size);
/*
 * Choose a fence for each communicator. It lies above what the fastest rank can
 * decide until all sites have received the arming and answered it.
 * @tries: number of fences tried before
 * @lead_ms: time in which all sites should answer and get the outcome
 */
void nb_targets_choose(struct nb_targets *t, const struct nb_view *v, unsigned tries,
		       uint64_t lead_ms);

/*
 * Position of all ranks relative to the fences, according to the sites'
 * answers.
 */
enum nb_targets_stand {
	NB_TARGETS_UNKNOWN, /* site *@site has not answered this revision */
	NB_TARGETS_BELOW,
	/* a rank is at the fence and has not announced that it waits */
	NB_TARGETS_AT,
	NB_TARGETS_BEYOND, /* a rank has decided past the fence */
	/* a rank's process on site *@site does not hold the generation */
	NB_TARGETS_UNSTAGED,
	/* somebody has changed record *@site since it was armed */
	NB_TARGETS_TAKEN
};
enum nb_targets_stand nb_targets_stand(const struct nb_targets *t, const struct nb_view *v,
				       const char **site);

void nb_targets_armed(struct nb_targets *t, int64_t revision);
void nb_targets_committed(struct nb_targets *t);

/* Build the next value of a record in the store. */
json_t *nb_target_record(struct nb_target *x, const char *state, int64_t n, const char *digest);
json_t *nb_target_back(struct nb_target *x);
/*
 * Returns true if the record belongs to a communicator that has ended, because
 * another communicator has its identity. A communicator that no site reports
 * may still exist. A communicator also still exists if some site registered it
 * before the record was made, even if other sites have registered another
 * communicator of this identity.
 *
 * Also returns true if an armed record that a site has written again is older
 * than the registration of a site that may not have copied it. If it is deleted,
 * the sites write it once more.
 */
bool nb_target_is_stale(const struct nb_view *v, const struct nb_view_key *k);

/*
 * Returns true if all sites with ranks of the communicator have copied its
 * record @k. Their answers may be old ones of a restored store, unless the
 * record is newer than that: one that a site has written again.
 */
bool nb_target_answered(const struct nb_view *v, const struct nb_view_key *k);

/* Build the member "comms" of a reply. */
json_t *nb_targets_report(const struct nb_targets *t, bool check);
/* Build the value of order/notes: why communicators are left to NCCL. */
json_t *nb_targets_notes(const struct nb_view *v);
/*
 * Returns the sites that have not committed change @n for their own
 * communicators, as {"site":, "text":}. *@waits is set if one of them may still
 * commit. A site whose processes have all ended since revision @since need not.
 */
json_t *nb_targets_unsettled(const struct nb_view *v, const json_t *sites, int64_t n, int64_t since,
			     bool *waits);
/*
 * Returns true if some communicator lacks the generation that all of its sites
 * have, and no lost outcome is asked for.
 */
bool nb_targets_lacking(const struct nb_view *v);

/*
 * Returns true if all ranks of one communicator have registered. In a job
 * without a communicator over several sites, a communicator of one site is
 * enough.
 */
bool nb_targets_started(const struct nb_view *v);

/*
 * Returns the object (line, images) with which the job must start now. Returns
 * NULL if nobody has set one, the job has not started, or it already runs this
 * policy or a newer one.
 */
const json_t *nb_desired_due(const struct nb_view *v);

#endif
