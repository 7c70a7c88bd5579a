// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_AGENT_TARGET_H
#define NB_PLUGIN_AGENT_TARGET_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plugin/agent/view.h"

/*
 * The communicators of several sites, as a coordinator sees them: which of them
 * a change moves, at which fence, and how their ranks stand to it. Pure: all
 * that is known is in the view.
 */
struct nb_target {
	char record[40]; /* key: order/record/COMM */
	char comm[17];
	int64_t mod;  /* the record's revision; 0: no record */
	json_t *back; /* the record before arming; NULL: none */
	uint64_t fence;
	uint32_t ranks, sites;
	/* Names of the sites, as found: keys of a site end with its agent's
	 * lease, its ranks do not. */
	char **site;
	char state[16]; /* state of the outcome */
	char why[200];	/* why it is left to NCCL; "": it switches */
};

struct nb_targets {
	struct nb_target *at;
	size_t n;
};

enum { NB_TARGETS = 60 }; /* most in one change: two operations each */

/* All of them, for a change to @digest. Those that have it already, or are
 * beyond NB_TARGETS, are left for later. */
void nb_targets_find(struct nb_targets *t, const struct nb_view *v,
		     const char *digest);
void nb_targets_free(struct nb_targets *t);

/* May fences be armed? Not while ranks are on their way to an earlier one. */
bool nb_targets_ready(const struct nb_targets *t, const struct nb_view *v,
		      char *why, size_t size);
/*
 * Choose the fences: above what the furthest rank can decide until all sites
 * have the arming and have answered.
 * @tries: fences that were tried; @rtt_ms: an answer's time; @age_ms: since
 *         the announcements in the view
 */
void nb_targets_choose(struct nb_targets *t, const struct nb_view *v,
		       unsigned tries, uint64_t rtt_ms, uint64_t age_ms);

/* How all ranks stand to the fences, by what sites have seen. */
enum nb_targets_stand {
	NB_TARGETS_UNKNOWN, /* *@site has not answered for this revision */
	NB_TARGETS_BELOW,
	NB_TARGETS_AT, /* a rank is at the fence and does not say it waits */
	NB_TARGETS_BEYOND, /* a rank is past it */
	NB_TARGETS_TAKEN   /* record *@site is no longer as armed */
};
enum nb_targets_stand nb_targets_stand(const struct nb_targets *t,
				       const struct nb_view *v,
				       const char **site);

void nb_targets_armed(struct nb_targets *t, int64_t revision);
void nb_targets_back(struct nb_targets *t, int64_t revision);
void nb_targets_committed(struct nb_targets *t);

/* Values of a record. */
json_t *nb_target_record(const struct nb_target *x, const char *state,
			 int64_t n, const char *digest);
json_t *nb_target_back(const struct nb_target *x);
/* Is the record of a communicator that is gone, since another has its
 * identity? That no site speaks of one does not say that it is gone. */
bool nb_target_is_stale(const struct nb_view *v, const struct nb_view_key *k);

/* Member "comms" of a reply. */
json_t *nb_targets_report(const struct nb_targets *t, bool check);
/* Value of order/notes: why communicators are left to NCCL. */
json_t *nb_targets_notes(const struct nb_view *v);
/* Those of @sites (names) that have not committed change @n on their own, as
 * {"site":, "text":}; @waits: some may yet. */
json_t *nb_targets_unsettled(const struct nb_view *v, const json_t *sites,
			     int64_t n, bool *waits);
/* Does one lack the generation that all of its sites have? */
bool nb_targets_lacking(const struct nb_view *v);

/* Have all ranks of one registered? Of a job that has no communicator over
 * several sites: has a site one at all? */
bool nb_targets_started(const struct nb_view *v);

/* What the job must start with now: an object with line and images. NULL: it
 * runs it, or something newer, or has not started, or nobody has set it. */
const json_t *nb_desired_due(const struct nb_view *v);

#endif
