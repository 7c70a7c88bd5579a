// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_GIN_OBSERVE_H
#define NB_PLUGIN_GIN_OBSERVE_H

#include "plugin/gin/hooks.h"
#include "plugin/profiler/trace_ring.h"

/*
 * Times of operations from post to done: histograms for each context and peer
 * while telemetry is on, spans while a trace records them. Counts are post.c's
 * and need no clock.
 */

/* Does telemetry or a trace need the times of operations? */
static inline bool nb_gin_recorded(void)
{
	return __atomic_load_n(&nb_prof.telemetry, __ATOMIC_RELAXED) |
	       (nb_trace_ring_wanted() & NB_TRACE_GIN);
}

/* ... or a program? */
static inline bool nb_gin_timed(void)
{
	enum { HOOKED = 1u << NB_HOOK_GIN_PUT | 1u << NB_HOOK_GIN_DONE };

	return (__atomic_load_n(&nb_prof.hooks, __ATOMIC_RELAXED) & HOOKED) ||
	       nb_gin_recorded();
}

/* The lane of a context and a peer in the arrays of @x. */
static inline size_t nb_gin_lane_index(const struct nb_gin_context *x,
				       uint32_t context, uint32_t peer)
{
	return (size_t)context * (size_t)x->coll->nranks + peer;
}

/* @op, which was timed, is done, or failed with @error. */
void nb_gin_observe_done(const struct nb_gin_context *x,
			 const struct nb_gin_op *op, int error);
/* A peer's signal was applied here. */
void nb_gin_observe_signal(const struct nb_gin_coll *c,
			   const struct nb_gin_arrival *a);

/* Add the times of @from to those of @to, which one thread owns. */
void nb_gin_time_sum(struct nb_tel_time *to, const struct nb_tel_time *from);
/* Reset the times of all open collComms. Any thread. */
void nb_gin_times_clear(void);

#endif
