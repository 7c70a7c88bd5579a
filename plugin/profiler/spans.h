// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_PROFILER_SPANS_H
#define NB_PLUGIN_PROFILER_SPANS_H

#include "plugin/profiler/state.h"
#include "plugin/trace/ring.h"

/* Record a finished event as a span. @n: the event's running number */
void nb_trace_span_task(const struct nb_pcomm *pc, const struct nb_op_slot *s,
			const struct nb_sample *o, uint64_t n);
void nb_trace_span_child(const struct nb_pcomm *pc, const struct nb_child_slot *c, uint64_t n,
			 uint64_t now);

#endif
