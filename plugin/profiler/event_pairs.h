// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_PROFILER_EVENT_PAIRS_H
#define NB_PLUGIN_PROFILER_EVENT_PAIRS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Handles for events that two profilers observe: ours and a wrapped one. NCCL
 * keeps only one handle for an event, but each profiler returns one. NCCL
 * therefore gets the number of a pair of handles. A pair stays valid after its
 * event has stopped, because children may follow, until its entry's turn comes
 * again: about 65,000 pairs after it was taken. Unknown numbers are ignored, as unknown handles are
 * (state.h).
 */
struct nb_event_pair {
	uint64_t ours;	/* our handle (events.h), or 0 if there is none */
	uint64_t owner; /* our context of the communicator (state.h) */
	void *its;
};

enum { NB_EVENT_PAIRS = 1 << 16 };

/*
 * nb_event_pair_comm - enable the wrapped profiler for communicator @context
 * @its: the wrapped profiler's context of this communicator
 *
 * Returns false if there is no memory for pairs. Any thread may call it, but
 * not while it handles an event.
 */
bool nb_event_pair_comm(uint64_t context, void *its);
/*
 * Get the wrapped profiler's context of a communicator. Returns false if there
 * is none.
 */
bool nb_event_pair_context(uint64_t context, void **its);
/*
 * Disable the wrapped profiler for @context. Sets *@its and returns as
 * nb_event_pair_context does.
 */
bool nb_event_pair_comm_end(uint64_t context, void **its);

/*
 * nb_event_pair_take - reserve an entry for a pair before the wrapped profiler
 * is called
 * @stolen: set to true if the entry was taken from an event that was never
 *   stopped
 *
 * Returns the entry's index, or NB_EVENT_PAIRS if no entry is free. It takes no
 * lock and allocates nothing.
 */
uint32_t nb_event_pair_take(bool *stolen);
/* Store a pair in a reserved entry. Returns the pair's handle. */
uint64_t nb_event_pair_put(uint32_t place, const struct nb_event_pair *p);
/* Release a reserved entry without using it. */
void nb_event_pair_drop(uint32_t place);

/* Returns true if @handle has the form of a pair's handle. */
bool nb_event_pair_is(uint64_t handle);
/*
 * nb_event_pair_get - look up the pair of a handle
 * @stop: end the pair's event; return false if it has ended before
 * @open: accept only a pair whose event is open
 *
 * Returns false if @handle is not a pair, or if its communicator's wrapped
 * profiler has ended.
 */
bool nb_event_pair_get(uint64_t handle, bool open, bool stop, struct nb_event_pair *out);

/*
 * Returns the events that NCCL reports to a profiler with @mask: those of the
 * mask and their parents, as bits.
 */
uint32_t nb_event_pair_delivered(uint32_t mask);

/* Remove all communicators in a forked child. */
void nb_event_pair_forked(void);

#endif
