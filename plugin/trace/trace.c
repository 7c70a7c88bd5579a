// SPDX-License-Identifier: MIT
/* Names of events, and which of them this process records and measures. */
#include "plugin/trace/trace.h"

#include <stddef.h>

struct nb_trace nb_trace;

const char *nb_event_word(unsigned event)
{
	static const char *const words[NB_TRACE_NEVENTS] = {
#define PROF_EVENT(name, bit, since, word) [bit] = word,
#include "core/defs/profiler.h"
		[NB_TRACE_GIN_PUT] = "gin_put",	      [NB_TRACE_GIN_GET] = "gin_get",
		[NB_TRACE_GIN_SIGNAL] = "gin_signal", [NB_TRACE_VERBS_QP] = "verbs_qp",
		[NB_TRACE_VERBS_POST] = "verbs_post", [NB_TRACE_VERBS_DONE] = "verbs_done",
	};

	return event < NB_TRACE_NEVENTS ? words[event] : NULL;
}
