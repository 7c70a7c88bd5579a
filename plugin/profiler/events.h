// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_PROFILER_EVENTS_H
#define NB_PLUGIN_PROFILER_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "plugin/profiler/mask.h"
#include "plugin/profiler/state.h"

/* NCCL's description of a communicator. */
struct nb_pcomm_init {
	uint32_t abi; /* 1..6 */
	int *mask;    /* the process's activation mask; may be NULL */
	const char *name;
	uint64_t comm_id;
	bool has_id;
	int32_t rank, ranks, nodes; /* -1: not said (v1 to v3) */
};

/* ---- NCCL's calls; any thread, anything may be NULL or stale ---- */

/* Sets *@context to something that is not NULL, and *@init->mask. Not @usable:
 * NCCL is asked for nothing. */
void nb_events_init(void **context, const struct nb_pcomm_init *init,
		    bool usable);
/* Initialise nb_clock_ns; any thread, any number of times. */
void nb_events_clock(void);
void nb_events_finalize(void *context);
/* The handle of @d; 0: none. No lock, allocation or system call. */
uint64_t nb_events_start(void *context, const struct nb_descr *d);
/* nb_events_start for a channel's kernel, the most frequent event. */
uint64_t nb_events_start_kernel(void *context, uint64_t parent,
				uint32_t channel, uint64_t timer,
				bool has_timer);
void nb_events_stop(void *handle);
/* @value: the argument of @state, if @has */
void nb_events_record(void *handle, int state, uint64_t value, bool has);

/* A handle for an event that we ignore, so that NCCL reports its children. */
uint64_t nb_events_pass(void *context, unsigned event);
/* ---- the rest of the plugin ---- */

/* Version of the profiler interface that NCCL calls; 0: not yet. */
uint32_t nb_events_abi(void);

/*
 * nb_events_each - call @fn for each living communicator, in order
 *
 * The communicator stays while @fn runs. Not from NCCL's calls.
 */
typedef void nb_pcomm_fn(struct nb_pcomm *pc, void *arg);
void nb_events_each(nb_pcomm_fn *fn, void *arg);

/* Complete samples that wait for nothing more; control thread, periodically. */
void nb_events_turn(void);
/* In a forked child: invalidate the parent's handles. */
void nb_events_forked(void);
/* At the end, when no thread calls: free the memory. */
void nb_events_end(void);

/* Numbers of ranks and nodes from the tuner, which v1 to v3 of the profiler do
 * not get. */
void nb_events_tell_size(uint32_t ranks, uint32_t nodes);
/*
 * @slot: the slot of this thread's rank in the segment; NULL: it has none. The
 * profiler reads the number of decisions from it. If NCCL reports calls of its
 * API, the profiler counts them there.
 */
void nb_events_tell_tuner(uint64_t comm_id, struct nb_seg_slot *slot);
/* Decisions of @slot's rank are counted in slot->decisions. */
void nb_events_tell_decisions(struct nb_seg_slot *slot);
/* Stop using @slot: its rank makes no more calls. */
void nb_events_untell(const struct nb_seg_slot *slot);

/* Complete or drop all open events; at finalize. */
void nb_events_close(struct nb_pcomm *pc);
/* Complete events without news for long. True: no event is open. */
bool nb_events_sweep(struct nb_pcomm *pc, uint64_t now);

#endif
