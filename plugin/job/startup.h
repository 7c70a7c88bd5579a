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
 * NCCL calls init on all ranks before any decision, so every rank sees a mark
 * that another rank left in init.
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
 * Mark that the ranks in slots @a and @b of one process started with a
 * different setting @what.
 */
void nb_startup_differ(struct nb_seg_comm *c, enum nb_setting what, uint32_t a, uint32_t b);

/*
 * Leave a mark that a rank of @comm_id could not register, for the rank's
 * peers. The caller does not hold the segment's lock.
 */
void nb_startup_lose(struct nb_segment *s, uint64_t comm_id);
/*
 * Leave a mark for a communicator without identity, whose ranks cannot
 * recognise the mark. The baseline cannot change until
 * nb_startup_lost_is_gone(NB_SEG_UNNAMED), so all ranks of that communicator
 * start with the same baseline.
 */
void nb_startup_bar(struct nb_segment *s);
/* Returns true if such a mark exists. The caller holds the segment's lock. */
bool nb_startup_barred(const struct nb_segment *s);
/*
 * Remove the mark of a communicator that has ended. The caller holds the
 * segment's lock.
 */
void nb_startup_lost_is_gone(struct nb_segment *s, uint64_t comm_id);
/*
 * Remove the marks of processes that are no longer registered. The caller holds
 * the segment's lock.
 */
void nb_startup_reap(struct nb_segment *s);
/*
 * Returns why the ranks of @c cannot start with the same policies, apart from
 * compared settings. NB_DIFFER_NOT: they can.
 */
enum nb_differ nb_startup_apart(const struct nb_segment *s, const struct nb_seg_comm *c);
/*
 * Returns true if a rank of this host has not registered before the first
 * decision. Its process does not load ncclbpf or disables it, has another job
 * name, or shares no segment.
 */
bool nb_startup_missing(const struct nb_seg_comm *c);
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
/* Record @why in the communicator's entry as the difference. */
void nb_startup_mark(struct nb_seg_comm *c, enum nb_differ why);
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
