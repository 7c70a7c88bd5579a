// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_JOB_REGISTRY_H
#define NB_PLUGIN_JOB_REGISTRY_H

#include "plugin/job/segment.h"

/*
 * nb_segment_attach - map the segment of @job and register this process
 * @dirfd: directory of the sockets; -1: none, use private memory
 * @flags: NB_SEG_PROC_CONTROL or 0
 * @membarrier: false: do not use membarrier(2)
 *
 * A segment in which no registered process is alive is reset. If the site's
 * agent alone is alive, a new run of the job begins with no generation. If the
 * file cannot be used, it falls back to private memory, and (*out)->why holds
 * the reason. Returns 0 or NB_E_NOMEM; *@out is then NULL.
 */
int nb_segment_attach(struct nb_segment **out, int dirfd, const char *job, uint32_t flags,
		      bool membarrier, struct nb_err *err);
/* The same; a segment that is created gets @place (nb_seg.place). */
int nb_segment_attach_from(struct nb_segment **out, int dirfd, const char *job, uint64_t place,
			   uint32_t flags, bool membarrier, struct nb_err *err);
/*
 * Unregister this process at exit, unless it has ranks. The segment stays
 * mapped, because threads may still decide.
 */
void nb_segment_leave_job(struct nb_segment *s);
/* Unregister this process and unmap the segment. @s may be NULL. */
void nb_segment_detach(struct nb_segment *s);

/* The functions below need the segment's lock. */

/* Remove dead processes, with their slots and communicators. */
void nb_segment_reap(struct nb_segment *s);
/*
 * Returns the number of living processes of the job, without the site's agent.
 */
uint32_t nb_segment_procs(const struct nb_segment *s);

/*
 * Returns true if another living process is the site's agent. *@pid is 0 if the
 * agent is in another PID namespace. It may also be called without the lock.
 */
bool nb_segment_agent(const struct nb_segment *s, uint64_t *pid, uint64_t *start);

/* What a rank that joins says of its communicator and of itself. */
struct nb_joining {
	uint64_t comm_id;
	enum nb_seg_id has_id; /* what gives the identity; not NB_ID_NONE */
	uint32_t nranks, nnodes;
	/* initial generation of a new entry; its digest is compared with an existing entry's */
	uint32_t first;
	bool calls; /* the rank's API calls are counted */
};

/*
 * nb_segment_join - find or create a communicator's entry and take a slot
 * @j: the rank that joins; *@comm is set to the entry, or to NULL
 *
 * *@slot is the slot's index; the slot is zeroed and LIVE. If the rank's digest
 * or settings (startup.h) differ from the entry's, the entry is marked, and all
 * its ranks then decide without policies (NB_ID_PROFILER: with their own).
 * (*comm)->slot[*slot].generation is the rank's initial generation. Returns
 * NB_E_LIMIT if no entry or slot is free.
 */
int nb_segment_join(struct nb_segment *s, const struct nb_joining *j, struct nb_seg_comm **comm,
		    uint32_t *slot, struct nb_err *err);
/* Release the slot. The last rank frees the entry. */
void nb_segment_leave(struct nb_segment *s, struct nb_seg_comm *comm, uint32_t slot);

#endif
