// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_PROFILER_TRACE_RING_H
#define NB_PLUGIN_PROFILER_TRACE_RING_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/err.h"
#include "plugin/profiler/events.h"

/*
 * What `trace start` writes down: profiler events that are over, in a ring of
 * the process. Writers are NCCL's threads: they take the next place, and never
 * wait; who is a whole ring behind loses what was written over, and a place
 * that another thread is still at is left out and counted. Readers keep a
 * number each and do not disturb anybody.
 *
 * The ring is there while a trace is open, or was: it is made by the first.
 */
enum { NB_SPANS = 1 << 15 };

/* The words of a span. Times are CPU, ns, of nb_clock; 0: not known. */
enum nb_trace_span_word {
	NB_SPAN_WHAT, /* NB_SPAN_AT_* */
	NB_SPAN_START,
	NB_SPAN_END,	/* of tasks: when NCCL had enqueued it */
	NB_SPAN_COMM,	/* identity */
	NB_SPAN_WHO,	/* rank 32, peer or root 32 */
	NB_SPAN_ID,	/* kind and number, as in a handle */
	NB_SPAN_PARENT, /* likewise; 0: none known */
	NB_SPAN_SEQ,	/* number of a collective; step of a step; thread of
			 * an API call */
	NB_SPAN_BYTES,
	/* tasks: execution ns + 1 and its source, when all was over, number
	 * of the tuner's decisions then, and in whose slot */
	NB_SPAN_EXEC,
	NB_SPAN_SOURCE,
	NB_SPAN_DONE,
	NB_SPAN_DECIDED,
	NB_SPAN_SLOT,
	/* kernels: the GPU's clock at start and stop */
	NB_SPAN_GPU_START = NB_SPAN_EXEC,
	NB_SPAN_GPU_STOP = NB_SPAN_SOURCE,
	/* steps: ns waited for the GPU, the peer, the network, a flush */
	NB_SPAN_WAITS = NB_SPAN_EXEC,
	NB_SPAN_WORDS = 15
};
enum {
	NB_SPAN_AT_EVENT = 0,
	NB_SPAN_AT_FUNC = 8,
	NB_SPAN_AT_ALGO = 16,
	NB_SPAN_AT_PROTO = 24,
	NB_SPAN_AT_CHANNELS = 32, /* of a task; else which channel */
	NB_SPAN_AT_SEND = 40,
	NB_SPAN_AT_GPU = 41 /* the kernel has told the GPU's clock */
};

struct nb_trace_span {
	uint64_t word[NB_SPAN_WORDS];
};

/* Bits of events that traces want; NCCL's threads look at each event. */
static inline uint32_t nb_trace_ring_wanted(void)
{
	return __atomic_load_n(&nb_prof.traced, __ATOMIC_RELAXED);
}

/* Any thread, no lock. */
void nb_trace_ring_add(const struct nb_trace_span *s);

/*
 * nb_trace_ring_open - events @events are written down from now on, and NCCL is
 * asked for them
 * @events: NB_EVENT_BIT()s
 *
 * Each open has its close with the same bits. 0, NB_E_NOMEM. Any thread that
 * is not NCCL's.
 */
int nb_trace_ring_open(uint32_t events, struct nb_err *err);
void nb_trace_ring_close(uint32_t events);
/* How many traces are open. */
uint32_t nb_trace_ring_traces(void);
/*
 * The trace that lives until it is told to end, by whichever connection: open
 * it (or ask for other events), and end it with 0. As nb_trace_ring_open.
 */
int nb_trace_ring_record(uint32_t events, struct nb_err *err);
uint32_t nb_trace_ring_recorded(void);

/* The number that comes next; spans below it were written, or left out. */
uint64_t nb_trace_ring_next(void);
/* Copy span @n; false: written over, left out or not there yet. */
bool nb_trace_ring_read(uint64_t n, struct nb_trace_span *out);
/* Left out because another thread was still at their place. */
uint64_t nb_trace_ring_left_out(void);

/* The events that NCCL must be asked for to have @events with their parents. */
uint32_t nb_trace_ring_needs(uint32_t events);

/* After a fork, in the child: no trace is open. */
void nb_trace_ring_forked(void);
/* Nothing calls any more. */
void nb_trace_ring_end(void);

/* Finished events become spans. @n: running numbers. */
void nb_trace_span_task(const struct nb_pcomm *pc, const struct nb_op_slot *s,
			const struct nb_sample *o, uint64_t n);
void nb_trace_span_child(const struct nb_pcomm *pc,
			 const struct nb_child_slot *c, uint64_t n,
			 uint64_t now);

#endif
