// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_JOB_REGISTRY_H
#define NB_PLUGIN_JOB_REGISTRY_H

#include "plugin/job/segment.h"

/*
 * nb_segment_attach - map the segment of @job and register this process
 * @dirfd: directory of sockets; -1: none, private memory
 * @flags: NB_SEG_PROC_CONTROL or 0
 * @membarrier: false: behave as if membarrier(2) were refused
 *
 * Resets a segment in which no registered process lives. Never fails for want
 * of a file: falls back to private memory and says why in (*out)->why. NULL
 * and NB_E_NOMEM otherwise.
 */
int nb_segment_attach(struct nb_segment **out, int dirfd, const char *job,
		      uint32_t flags, bool membarrier, struct nb_err *err);
/* Unregister this process and unmap the segment. Does nothing for NULL. */
void nb_segment_detach(struct nb_segment *s);

/* ---- with the segment's lock ---- */

/* Remove processes that died, with their slots and communicators. */
void nb_segment_reap(struct nb_segment *s);
/* Living processes of the job; the site's agent is none. */
uint32_t nb_segment_procs(const struct nb_segment *s);

/*
 * Does another process live that is the site's agent? *@pid: 0 if it is in
 * another PID namespace. Also without the lock.
 */
bool nb_segment_agent(const struct nb_segment *s, uint64_t *pid,
		      uint64_t *start);

/*
 * nb_segment_join - find or make the communicator's entry and take a slot
 * @has_id: false: NCCL gives no identity; ranks are put together as they come
 * @first: number of the generation it begins with if it is made now;
 *         its digest is compared if it exists
 *
 * *@slot gets the slot's index; the slot is zeroed and LIVE. A rank whose
 * digest differs from the entry's marks the entry: from then on all its ranks
 * decide with no policy; so does one whose settings differ (startup.h).
 * (*comm)->slot[*slot].generation is the rank's initial generation. NB_E_LIMIT
 * when
 * entries or slots are used up.
 */
int nb_segment_join(struct nb_segment *s, bool has_id, uint64_t comm_id,
		    uint32_t nranks, uint32_t nnodes, uint32_t first,
		    struct nb_seg_comm **comm, uint32_t *slot,
		    struct nb_err *err);
/* Release the slot; the last rank frees the entry. */
void nb_segment_leave(struct nb_segment *s, struct nb_seg_comm *comm,
		      uint32_t slot);

/* Free the entry if no live rank uses it. */
void nb_segment_free_if_left(struct nb_seg_comm *comm);

#endif
