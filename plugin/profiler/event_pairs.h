// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_PROFILER_EVENT_PAIRS_H
#define NB_PLUGIN_PROFILER_EVENT_PAIRS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * A wrapped profiler beside ours. NCCL keeps one handle for an event, and both
 * profilers have their own, so NCCL gets the number of a pair. A pair stays
 * valid after its event stopped, since children may come later; the pair that
 * stopped longest ago is reused first. Unknown numbers are ignored, as unknown
 * handles are (state.h).
 */
struct nb_event_pair {
	uint64_t ours;	/* a handle of events.h; 0: none */
	uint64_t owner; /* context of the communicator (state.h) */
	void *its;
};

enum { NB_EVENT_PAIRS = 1 << 16 };

/*
 * nb_event_pair_comm - enable the wrapped profiler for @context, with its own
 * context
 *
 * False: no memory for pairs. Any thread, not on an event's path.
 */
bool nb_event_pair_comm(uint64_t context, void *its);
/* The wrapped profiler's context of a communicator; false: none. */
bool nb_event_pair_context(uint64_t context, void **its);
/* Disable the wrapped profiler for @context; returns as nb_event_pair_context.
 * */
bool nb_event_pair_comm_end(uint64_t context, void **its);

/*
 * nb_event_pair_take - take a place for a pair, before the wrapped profiler is
 * called
 *
 * Returns the place, or NB_EVENT_PAIRS: none is free. *@stolen: it was taken
 * from an event that was never stopped. No
 * lock, no allocation.
 */
uint32_t nb_event_pair_take(bool *stolen);
/* The pair's handle. */
uint64_t nb_event_pair_put(uint32_t place, const struct nb_event_pair *p);
/* Return an unneeded place. */
void nb_event_pair_drop(uint32_t place);

/* Does @handle have the form of a pair's handle? */
bool nb_event_pair_is(uint64_t handle);
/*
 * nb_event_pair_get - the pair of a handle
 * @stop: end the event; false if it has ended already @open: accept only pairs
 * with an open event
 *
 * False: it is no pair, or its communicator's profiler is gone.
 */
bool nb_event_pair_get(uint64_t handle, bool open, bool stop,
		       struct nb_event_pair *out);

/* Bits of the events that NCCL gives a profiler with @mask: those of the mask
 * and their parents. */
uint32_t nb_event_pair_delivered(uint32_t mask);

/* In a forked child: no communicators. At the end, when no thread calls: free
 * the memory. */
void nb_event_pair_forked(void);
void nb_event_pair_end(void);

#endif
