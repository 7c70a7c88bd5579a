// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_GIN_OBSERVE_H
#define NB_PLUGIN_GIN_OBSERVE_H

#include "plugin/gin/hooks.h"
#include "plugin/trace/ring.h"

/*
 * Latencies of operations from post to completion. Telemetry fills histograms
 * for each context and peer, and a trace records spans. post.c counts
 * operations itself, without a clock.
 */

/* Returns true if telemetry or a trace needs the times of operations. */
static inline bool nb_gin_recorded(void)
{
	return nb_tel_wanted() | (nb_trace_ring_wanted() & NB_TRACE_GIN);
}

/*
 * Returns true if telemetry, a trace or a program needs the times of
 * operations.
 */
static inline bool nb_gin_timed(void)
{
	enum { HOOKED = 1u << NB_HOOK_GIN_PUT | 1u << NB_HOOK_GIN_DONE };

	return nb_hooks_any(HOOKED) || nb_gin_recorded();
}

/* Returns the index of @context and @peer in the lane arrays of @x. */
static inline size_t nb_gin_lane_index(const struct nb_gin_context *x, uint32_t context,
				       uint32_t peer)
{
	return (size_t)context * (size_t)x->coll->nranks + peer;
}

/* Record the latency of @op, which has completed or has failed with @error. */
void nb_gin_observe_done(const struct nb_gin_context *x, const struct nb_gin_op *op, int error);
/* Record that a peer's signal was applied here. */
void nb_gin_observe_signal(const struct nb_gin_coll *c, const struct nb_gin_arrival *a);

/* Add the times in @from to @to. Only the calling thread may use @to. */
void nb_gin_time_sum(struct nb_tel_time *to, const struct nb_tel_time *from);
/* Reset the latencies of all open collComms. Any thread may call it. */
void nb_gin_times_clear(void);

#endif
