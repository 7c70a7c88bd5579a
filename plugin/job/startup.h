// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_JOB_STARTUP_H
#define NB_PLUGIN_JOB_STARTUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/jobseg/format.h"

struct nb_segment;

/*
 * Start-up agreement: before a communicator's first decision we detect ranks of
 * this host that start with other policies, settings or versions than their
 * peers. NCCL calls init on all ranks before any decision, so a mark left in
 * init is seen by all.
 */

/* "0.1.0" as a number that can be compared; each part is at most 1023. */
uint32_t nb_startup_version(const char *text);

/* Compare the new slot @i with an older one, and mark the entry if they differ.
 * With the segment's lock. */
void nb_startup_compare(struct nb_segment *s, struct nb_seg_comm *c, uint32_t i,
			bool same_policies, uint32_t first);

/* Mark that ranks in slots @a and @b, of one process, started differently in
 * @what. */
void nb_startup_differ(struct nb_seg_comm *c, enum nb_setting what, uint32_t a,
		       uint32_t b);

/* Leave a mark for its peers that a rank of @comm_id could not register.
 * Without the lock. */
void nb_startup_lose(struct nb_segment *s, uint64_t comm_id);
/*
 * Leave the mark for a communicator without identity, whose ranks cannot find
 * it. Bars changes of the baseline until
 * nb_startup_lost_is_gone(NB_SEG_UNNAMED), so that all of its ranks start with
 * the same.
 */
void nb_startup_bar(struct nb_segment *s);
/* Is there such a mark? With the lock. */
bool nb_startup_barred(const struct nb_segment *s);
/* Remove the mark: its communicator is gone. With the lock. */
void nb_startup_lost_is_gone(struct nb_segment *s, uint64_t comm_id);
/* Remove the marks of processes that died. With the lock. */
void nb_startup_reap(struct nb_segment *s);
/* Why the ranks of @c cannot start alike, apart from compared settings.
 * NB_DIFFER_NOT: they can. */
enum nb_differ nb_startup_apart(const struct nb_segment *s,
				const struct nb_seg_comm *c);
/* Before the first decision: is a rank of this host missing? Its process has no
 * ncclbpf or another job name, is disabled, or shares no segment. */
bool nb_startup_missing(const struct nb_seg_comm *c);
/*
 * Before the first decision: do all ranks count calls of NCCL's API, so that
 * fences can be call numbers? All ranks find the same, and the entry records
 * it. Of a communicator of several sites: all ranks of this site; the fleet
 * compares the sites before it arms a fence.
 */
bool nb_startup_by_calls(struct nb_seg_comm *c);
/* Record @why in the entry. */
void nb_startup_mark(struct nb_seg_comm *c, enum nb_differ why);
/* Can a change of policies help? */
bool nb_startup_for_good(const struct nb_seg_comm *c);

/*
 * nb_startup_text - the difference between ranks of @c, with both sides
 *
 * "" if they do not differ. Cut to @size.
 */
void nb_startup_text(const struct nb_segment *s, const struct nb_seg_comm *c,
		     char *text, size_t size);

#endif
