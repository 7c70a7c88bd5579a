// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_PROFILER_EVENTS_H
#define NB_PLUGIN_PROFILER_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "plugin/profiler/mask.h"
#include "plugin/profiler/state.h"

/* NCCL's description of a new communicator. */
struct nb_pcomm_init {
	uint32_t abi; /* version of the profiler interface, 1 to 7 */
	int *mask;    /* activation mask of the process; may be NULL */
	const char *name;
	uint64_t comm_id;
	bool has_id;
	/*
	 * rank, and numbers of ranks and nodes; versions 1 to 3 do not pass
	 * them: -1
	 */
	int32_t rank, ranks, nodes;
};

/*
 * NCCL calls the functions below in any thread. Any argument may be NULL or
 * outdated.
 */

/*
 * Register a communicator. Sets *@context to a value that is not NULL, and sets
 * *@init->mask. If @usable is false, NCCL is asked for no events.
 */
void nb_events_init(void **context, const struct nb_pcomm_init *init, bool usable);
void nb_events_finalize(void *context);
/*
 * Start event @d. Returns its handle, or 0 if the event is dropped. It uses no
 * lock, allocation or system call.
 */
uint64_t nb_events_start(void *context, const struct nb_descr *d);
/* Start the event of a channel's kernel, the most frequent event. */
uint64_t nb_events_start_kernel(void *context, uint64_t parent, uint32_t channel, uint64_t timer,
				bool has_timer);
void nb_events_stop(void *handle);
/*
 * Record state @state of an event. @value is the state's argument if @has is
 * true.
 */
void nb_events_record(void *handle, int state, uint64_t value, bool has);

/*
 * Returns a handle for an event that we ignore, so that NCCL reports the
 * event's children.
 */
uint64_t nb_events_pass(void *context, unsigned event);
/* Other parts of the plugin call the functions below. */

/*
 * Returns the version of the profiler interface that NCCL calls, or 0 if NCCL
 * has not called it.
 */
uint32_t nb_events_abi(void);

/*
 * nb_events_each - call @fn for each living communicator, in order
 *
 * The communicator stays valid while @fn runs. Must not be called within one of
 * NCCL's calls.
 */
typedef void nb_pcomm_fn(struct nb_pcomm *pc, void *arg);
void nb_events_each(nb_pcomm_fn *fn, void *arg);

/*
 * Complete samples that have all their data. The control thread calls it at
 * intervals.
 */
void nb_events_tick(void);
/* Invalidate the parent's handles in a forked child. */
void nb_events_forked(void);
/* Withdraw at exit what other processes would count. It frees nothing. */
void nb_events_leave(void);

/* The first version of the profiler interface whose init names communicators. */
enum { NB_PROFILER_NAMES = 4 };

/*
 * nb_events_name - the identity of the communicator whose tuner is initialised
 *
 * NCCL calls the inits of profiler and tuner for one communicator in one thread,
 * with no other init between them. Returns false, with *@comm_id unchanged, if
 * that is not certain: the thread's last init was of another size, its
 * communicator has ended or was named before, or the version names none.
 */
bool nb_events_name(uint32_t ranks, uint32_t nodes, uint64_t *comm_id);
/*
 * Set the numbers of ranks and nodes, which the tuner knows and versions 1 to 3
 * of the profiler interface do not pass.
 */
void nb_events_tell_size(uint32_t ranks, uint32_t nodes);
/*
 * Returns true if the profiler counts the API calls of this thread's
 * communicator, whose identity is @comm_id.
 */
bool nb_events_sees_calls(uint64_t comm_id);
/*
 * Connect this thread's communicator with its entry and its rank's slot in the
 * segment, or with NULL if it has none. The profiler reads the number of decisions from the
 * slot, and the decisions from @ring, which is NULL or stays mapped until the
 * process ends. If nb_events_sees_calls, the profiler counts the calls in the
 * slot, in which the rank has registered with nb_comm_init.calls.
 */
void nb_events_tell_tuner(uint64_t comm_id, struct nb_seg_comm *entry, struct nb_seg_slot *slot,
			  const struct nb_packed *ring);
/*
 * Call @fn with @caller at each API call that the profiler counts in @slot, in
 * the thread that makes the call, after it was counted. It ends with
 * nb_events_untell.
 */
void nb_events_tell_calls(const struct nb_seg_slot *slot, nb_api_call_fn *fn, void *caller);
/* Use slot->decisions as the number of decisions of @slot's rank. */
void nb_events_tell_decisions(struct nb_seg_slot *slot);
/* Stop using @slot, because its rank makes no more calls. */
void nb_events_untell(const struct nb_seg_slot *slot);

/* Complete or drop all open events of a communicator at its finalize. */
void nb_events_close(struct nb_pcomm *pc);
/*
 * Complete events that had no news for long. Returns true if no event is open.
 */
bool nb_events_sweep(struct nb_pcomm *pc, uint64_t now);

#endif
