// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_PROFILER_EVENT_PAIRS_H
#define NB_PLUGIN_PROFILER_EVENT_PAIRS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * A displaced profiler beside ours. NCCL has one handle an event and each of
 * us has its own, so what NCCL gets is the number of a pair. A pair lives on
 * after its event was stopped, as children may come later; the one stopped
 * longest ago is taken for a new event. Numbers that are not those of a living
 * pair mean nothing, as with our own handles (events.h).
 */
struct nb_event_pair {
	uint64_t ours;	/* a handle of events.h; 0: none */
	uint64_t owner; /* context of the communicator, as events.h has it */
	void *its;
};

enum { NB_EVENT_PAIRS = 1 << 16 };

/*
 * nb_event_pair_comm - @context's profiler is called too, with its own context
 *
 * False: no memory for pairs. Any thread, not on an event's path.
 */
bool nb_event_pair_comm(uint64_t context, void *its);
/* Its own context of a communicator; false: that has none. */
bool nb_event_pair_context(uint64_t context, void **its);
/* No event of @context reaches it any more; returns what nb_event_pair_context
 * would have. */
bool nb_event_pair_comm_end(uint64_t context, void **its);

/*
 * nb_event_pair_take - room for a pair, before its profiler is called
 *
 * NB_EVENT_PAIRS: there is none, all events are open and many threads want to
 * take one. *@stolen: it was that of an event which was never stopped and now
 * means nothing. No lock, no allocation.
 */
uint32_t nb_event_pair_take(bool *stolen);
/* The pair's handle. */
uint64_t nb_event_pair_put(uint32_t place, const struct nb_event_pair *p);
/* The place is not needed. */
void nb_event_pair_drop(uint32_t place);

/* Is @handle of the form of a pair's? */
bool nb_event_pair_is(uint64_t handle);
/*
 * nb_event_pair_get - the pair of a handle
 * @stop: true: the event ends; a second time is false
 * @open: with true, one that was stopped is false too
 *
 * False: it is no pair, or its communicator's profiler is gone.
 */
bool nb_event_pair_get(uint64_t handle, bool open, bool stop,
		       struct nb_event_pair *out);

/* Bits of the events that NCCL tells a profiler with that mask: those it names
 * and the ones above them. */
uint32_t nb_event_pair_delivered(uint32_t mask);

/* After a fork, in the child: it has none. When nothing calls any more: give
 * the memory back. */
void nb_event_pair_forked(void);
void nb_event_pair_end(void);

#endif
