// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_PROFILER_TRACE_RING_H
#define NB_PLUGIN_PROFILER_TRACE_RING_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/err.h"
#include "plugin/profiler/events.h"

/*
 * Finished profiler events that `trace start` records, in a ring of the
 * process. NCCL's threads write, and never wait. A writer drops and counts a
 * span whose place another thread still writes. Each reader has its own
 * position; a reader that is a whole ring behind misses spans.
 *
 * The first trace makes the ring.
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

/* Bits of events that traces record; NCCL's threads check it for each event. */
static inline uint32_t nb_trace_ring_wanted(void)
{
	return __atomic_load_n(&nb_prof.traced, __ATOMIC_RELAXED);
}

/* Any thread, no lock. */
void nb_trace_ring_add(const struct nb_trace_span *s);

/*
 * nb_trace_ring_open - record events @events, and ask NCCL for them
 * @events: NB_EVENT_BIT()s
 *
 * Each open needs a close with the same bits. 0, NB_E_NOMEM. Not from NCCL's
 * threads.
 */
int nb_trace_ring_open(uint32_t events, struct nb_err *err);
void nb_trace_ring_close(uint32_t events);
/* How many traces are open. */
uint32_t nb_trace_ring_traces(void);
/*
 * The trace that does not end with a connection: start it, change its events,
 * or end it with 0. As nb_trace_ring_open.
 */
int nb_trace_ring_record(uint32_t events, struct nb_err *err);
uint32_t nb_trace_ring_recorded(void);

/* The next span's number; spans below were written or dropped. */
uint64_t nb_trace_ring_next(void);
/* Copy span @n; false: overwritten, dropped or not written yet. */
bool nb_trace_ring_read(uint64_t n, struct nb_trace_span *out);
/* Spans dropped because another thread was writing their place. */
uint64_t nb_trace_ring_left_out(void);

/* The events to ask NCCL for, to get @events with their parents. */
uint32_t nb_trace_ring_needs(uint32_t events);

/* After a fork, in the child: no trace is open. */
void nb_trace_ring_forked(void);
/* At the end, when no thread calls. */
void nb_trace_ring_end(void);

/* Finished events become spans. @n: running numbers. */
void nb_trace_span_task(const struct nb_pcomm *pc, const struct nb_op_slot *s,
			const struct nb_sample *o, uint64_t n);
void nb_trace_span_child(const struct nb_pcomm *pc,
			 const struct nb_child_slot *c, uint64_t n,
			 uint64_t now);

#endif
