// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_JOB_STARTUP_H
#define NB_PLUGIN_JOB_STARTUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/job/segment/format.h"

struct nb_segment;

/*
 * Start-up agreement. Before a communicator's first decision, the ranks of this
 * host detect whether they start with different policies, settings or versions.
 * NCCL 2.28 and later call the tuner's init on all ranks before any decision, so
 * every rank sees which ranks have registered. Earlier releases give no identity
 * (NB_ID_NONE), or one that ranks learn one by one (NB_ID_PROFILER). Their ranks
 * need no agreement: all start with NCCLBPF_POLICY, whatever the job has changed.
 */

/*
 * Convert a version like "0.1.0" to a number for comparison. Each part is at
 * most 1023.
 */
uint32_t nb_startup_version(const char *text);

/*
 * Compare new slot @i with an older slot, and mark the entry if they differ.
 * The caller holds the segment's lock.
 */
void nb_startup_compare(struct nb_segment *s, struct nb_seg_comm *c, uint32_t i, bool same_policies,
			uint32_t first);

/*
 * Add the facts about a new rank's host to those of the ranks that have registered before. The
 * rank's slot is not LIVE yet, and the caller holds the segment's lock.
 */
void nb_startup_add_facts(struct nb_seg_comm *c, const uint32_t fact[NB_NFACTS]);
/*
 * nb_startup_facts - get the facts that all ranks of @c share, at a rank's first decision
 * @fact: set to the facts; NCCLBPF_MIXED where ranks differ, 0 where no rank knows it
 *
 * All facts are 0 if the first rank that decided had not found all ranks in this segment: some are
 * on another host, share no segment, or had not registered. That rank's finding stands while the
 * communicator lives, so all ranks get the same facts. It takes no lock.
 */
void nb_startup_facts(struct nb_seg_comm *c, uint32_t fact[NB_NFACTS]);

/*
 * Mark that the ranks in two slots of one process started with different values
 * of setting @what.
 */
void nb_startup_differ(struct nb_seg_comm *c, enum nb_setting what, const uint32_t slot[2],
		       const uint32_t value[2]);

/*
 * Returns a living process of the job that started with another NCCLBPF_POLICY than this one, or
 * NULL. Ranks that nobody compares, because NCCL has not told the tuner who they are, may then
 * start differently.
 */
const struct nb_seg_proc *nb_startup_other(const struct nb_segment *s);

/*
 * Count the ranks before a rank's first decision. If a rank of this host has not
 * registered, NCCL decides for all: its process does not load ncclbpf or
 * disables it, has another version or job name, or shares no segment. All ranks
 * count the same, because NCCL has initialised all of them.
 */
void nb_startup_count(struct nb_seg_comm *c);
/*
 * nb_startup_clock - returns the events that number the fences of @c
 *
 * Calls of NCCL's API if all ranks see them, else decisions if NCCL asks all
 * tuners alike, else none: a fence would then be another collective on each
 * rank, so the communicator is not changed in flight. All ranks get the same
 * result once they have registered, and the first decision records it. For a
 * communicator of several sites, it checks the ranks of this site, and the
 * fleet compares the sites before it arms a fence.
 */
enum nb_clock_kind nb_startup_clock(const struct nb_seg_comm *c);
/*
 * Write why the communicator has no clock, and what to do, or "" if it has one.
 */
void nb_startup_clock_text(const struct nb_seg_comm *c, char *text, size_t size);
/* Returns what to do about the difference. */
const char *nb_startup_remedy(const struct nb_seg_comm *c);
/* Returns true if the ranks would still differ after any change of policies. */
bool nb_startup_for_good(const struct nb_seg_comm *c);

/* size that holds every reason why a communicator keeps its generation */
enum { NB_STARTUP_WHY = 200 };

/*
 * nb_startup_fixed - does the communicator keep its generation while it lives?
 * @why: set to the reason, or to "" if a fence can move all of its ranks
 *
 * It does if its ranks differ in more than policies, if some of them are not in
 * this segment, or if they share no clock. Not for communicators of a fleet,
 * whose sites decide it together.
 */
bool nb_startup_fixed(const struct nb_segment *s, const struct nb_seg_comm *c,
		      char why[NB_STARTUP_WHY]);

/*
 * nb_startup_text - describe the difference between ranks of @c, with both
 * values
 *
 * @text is "" if the ranks do not differ. It is truncated to @size.
 */
void nb_startup_text(const struct nb_segment *s, const struct nb_seg_comm *c, char *text,
		     size_t size);

#endif
