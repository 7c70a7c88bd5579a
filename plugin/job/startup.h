// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_JOB_STARTUP_H
#define NB_PLUGIN_JOB_STARTUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/jobseg/format.h"

struct nb_segment;

/*
 * Start-up agreement: ranks of this host that begin with other policies,
 * settings or versions than their peers are found before the communicator's
 * first decision. NCCL lets no rank decide before all have told their tuner
 * of the communicator, so that what a rank says then is seen by all.
 */

/* "0.1.0" as a number that compares; each part at most 1023. */
uint32_t nb_startup_version(const char *text);

/* Compare slot @i, just taken, with one that was there: marks the entry where
 * they differ. With the segment's lock. */
void nb_startup_compare(struct nb_segment *s, struct nb_seg_comm *c, uint32_t i,
			bool same_policies, uint32_t first);

/* Ranks in slots @a and @b, of one process, began differently in @what. */
void nb_startup_differ(struct nb_seg_comm *c, enum nb_setting what, uint32_t a,
		       uint32_t b);

/* A rank of @comm_id cannot be registered: its peers must know. Without the
 * lock. */
void nb_startup_lose(struct nb_segment *s, uint64_t comm_id);
/*
 * The same of a communicator without identity, whose ranks cannot be told what
 * one of them does: from here until nb_startup_lost_is_gone(NB_SEG_UNNAMED) the
 * baseline does not change, so that all of them begin with the same.
 */
void nb_startup_bar(struct nb_segment *s);
/* Does such a mark stand? With the lock. */
bool nb_startup_barred(const struct nb_segment *s);
/* Its communicator is gone; likewise. */
void nb_startup_lost_is_gone(struct nb_segment *s, uint64_t comm_id);
/* The marks of processes that died. With the lock. */
void nb_startup_reap(struct nb_segment *s);
/* This process, of PID namespace @ns (0: not known), cannot share the segment
 * @fd: its version is another one, or it could not be had. */
void nb_startup_stranger(int fd, uint64_t ns);

/* What keeps the ranks of @c from one beginning, besides what they compared;
 * NB_DIFFER_NOT: nothing. */
enum nb_differ nb_startup_apart(const struct nb_segment *s,
				const struct nb_seg_comm *c);
/* Before its first decision, when all of its ranks must have been told of: has
 * one of those on this host not registered? It has no ncclbpf or another job's
 * name, is disabled, or shares no segment. */
bool nb_startup_missing(const struct nb_seg_comm *c);
/*
 * Likewise: do all of its ranks see calls of NCCL's API, so that their clock
 * can be these? Each finds the same, and the entry says so from then on.
 */
bool nb_startup_by_calls(struct nb_seg_comm *c);
/* Note @why in the entry for people. */
void nb_startup_mark(struct nb_seg_comm *c, enum nb_differ why);
/* Can a change of policies help? */
bool nb_startup_for_good(const struct nb_seg_comm *c);

/*
 * nb_startup_text - in what the ranks of @c differ, both sides named
 *
 * "" where they do not. Cut to @size.
 */
void nb_startup_text(const struct nb_segment *s, const struct nb_seg_comm *c,
		     char *text, size_t size);

#endif
