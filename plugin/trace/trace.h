// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_TRACE_TRACE_H
#define NB_PLUGIN_TRACE_TRACE_H

#include <assert.h>
#include <stdint.h>

/*
 * The events of this process: their numbers and names, and which of them are
 * recorded and measured.
 */

/* NCCL's profiler events, in one form for all versions of the interface. */
enum nb_event {
#define PROF_EVENT(name, bit, since, word) NB_EVENT_##name = bit,
#include "core/defs/profiler.h"
	NB_NEVENTS,
	/*
	 * not an event: the kind of the context that NCCL holds. A phase of a
	 * kernel has the same number, but never a handle of ours.
	 */
	NB_EVENT_CONTEXT = 15
};
#define NB_EVENT_BIT(name) (1u << NB_EVENT_##name)

/*
 * Events that the plugin itself records. Their bits follow those of NCCL's
 * profiler events; no version of the interface has them, so NCCL is never asked
 * for them.
 */
enum nb_trace_event {
	/* a put, with or without a signal, from post to completion */
	NB_TRACE_GIN_PUT = 16,
	NB_TRACE_GIN_GET,
	NB_TRACE_GIN_SIGNAL, /* a peer's signal was applied to our memory */
	/* a queue pair was created, changed or is being destroyed */
	NB_TRACE_VERBS_QP,
	NB_TRACE_VERBS_POST, /* a call that posted work requests */
	/* a message, from its post to its completion */
	NB_TRACE_VERBS_DONE,
	NB_TRACE_NEVENTS
};
static_assert((int)NB_TRACE_GIN_PUT > (int)NB_EVENT_CONTEXT, "NCCL's events are below");
#define NB_TRACE_BIT(name) (1u << NB_TRACE_##name)
#define NB_TRACE_GIN (NB_TRACE_BIT(GIN_PUT) | NB_TRACE_BIT(GIN_GET) | NB_TRACE_BIT(GIN_SIGNAL))
#define NB_TRACE_VERBS \
	(NB_TRACE_BIT(VERBS_QP) | NB_TRACE_BIT(VERBS_POST) | NB_TRACE_BIT(VERBS_DONE))
/* Returns an event's name, such as "coll" or "gin_put", or NULL for other numbers. */
const char *nb_event_word(unsigned event);

/*
 * NONE: the function, algorithm or protocol is not known. SYMMETRIC: algorithm
 * of a symmetric kernel, which has no protocol (profiler v7).
 */
enum { NB_WORD_NONE = 255, NB_WORD_SYMMETRIC = 254 };

/*
 * The number of an event: its kind, the index of its communicator, and a
 * running number. NCCL's handles contain it.
 */
enum { NB_HANDLE_KIND = 46, NB_HANDLE_COMM = 36 };
#define NB_HANDLE_NUMBER ((UINT64_C(1) << NB_HANDLE_COMM) - 1)
#define NB_HANDLE_COMMS (UINT64_C(1) << (NB_HANDLE_KIND - NB_HANDLE_COMM))

static inline uint64_t nb_event_id(uint32_t kind, uint64_t comm, uint64_t n)
{
	return (uint64_t)kind << NB_HANDLE_KIND | (comm & (NB_HANDLE_COMMS - 1)) << NB_HANDLE_COMM |
	       (n & NB_HANDLE_NUMBER);
}

/* Atomic. NCCL's threads read them, so nothing that is often written shares their cache line. */
struct nb_trace {
	/* events that traces record, as NB_EVENT_BIT() and NB_TRACE_BIT() bits */
	_Alignas(64) uint32_t events;
	uint32_t telemetry; /* what telemetry measures, as bits NB_TEL_* */
};
extern struct nb_trace nb_trace;

/* NCCL's threads check it for each event. */
static inline uint32_t nb_trace_ring_wanted(void)
{
	return __atomic_load_n(&nb_trace.events, __ATOMIC_RELAXED);
}
static inline uint32_t nb_tel_wanted(void)
{
	return __atomic_load_n(&nb_trace.telemetry, __ATOMIC_RELAXED);
}

#endif
