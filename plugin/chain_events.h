// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_CHAIN_EVENTS_H
#define NB_PLUGIN_CHAIN_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * A displaced profiler beside ours. NCCL has one handle an event and each of
 * us has its own, so what NCCL gets is the number of a pair. A pair lives on
 * after its event was stopped, as children may come later; the one stopped
 * longest ago is taken for a new event. Numbers that are not those of a living
 * pair mean nothing, as with our own handles (events.h).
 */
struct nb_chained_pair {
	uint64_t ours;	/* a handle of events.h; 0: none */
	uint64_t owner; /* context of the communicator, as events.h has it */
	void *its;
};

enum { NB_CHAIN_PAIRS = 1 << 16 };

/*
 * nb_chained_comm - @context's profiler is called too, with its own context
 *
 * False: no memory for pairs. Any thread, not on an event's path.
 */
bool nb_chained_comm(uint64_t context, void *its);
/* Its own context of a communicator; false: that has none. */
bool nb_chained_context(uint64_t context, void **its);
/* No event of @context reaches it any more; returns what nb_chained_context
 * would have. */
bool nb_chained_comm_end(uint64_t context, void **its);

/*
 * nb_chained_take - room for a pair, before its profiler is called
 *
 * NB_CHAIN_PAIRS: there is none, all events are open and many threads want to
 * take one. *@stolen: it was that of an event which was never stopped and now
 * means nothing. No lock, no allocation.
 */
uint32_t nb_chained_take(bool *stolen);
/* The pair's handle. */
uint64_t nb_chained_put(uint32_t place, const struct nb_chained_pair *p);
/* The place is not needed. */
void nb_chained_drop(uint32_t place);

/* Is @handle of the form of a pair's? */
bool nb_chained_is(uint64_t handle);
/*
 * nb_chained_get - the pair of a handle
 * @stop: true: the event ends; a second time is false
 * @open: with true, one that was stopped is false too
 *
 * False: it is no pair, or its communicator's profiler is gone.
 */
bool nb_chained_get(uint64_t handle, bool open, bool stop,
		    struct nb_chained_pair *out);

/* Bits of the events that NCCL tells a profiler with that mask: those it names
 * and the ones above them. */
uint32_t nb_chained_delivered(uint32_t mask);

/* After a fork, in the child: it has none. When nothing calls any more: give
 * the memory back. */
void nb_chained_forked(void);
void nb_chained_end(void);

#endif
