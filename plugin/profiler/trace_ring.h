// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_PROFILER_TRACE_RING_H
#define NB_PLUGIN_PROFILER_TRACE_RING_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/base/err.h"
#include "plugin/profiler/state.h"

/*
 * Finished profiler events that `trace start` records, in a ring of the
 * process. NCCL's threads write, and never wait. A writer drops and counts a
 * span whose place another thread still writes. Each reader has its own
 * position; a reader that is a whole ring behind misses spans.
 *
 * The first trace makes the ring.
 */
enum { NB_SPANS = 1 << 15 };

/*
 * Events that the plugin itself records, behind those of NCCL's profiler: bits
 * that no version of the interface has, so NCCL is never asked for them.
 */
enum nb_trace_event {
	NB_TRACE_GIN_PUT = 16, /* from post to done, with or without a signal */
	NB_TRACE_GIN_GET,
	NB_TRACE_GIN_SIGNAL, /* a peer's signal was applied here */
	NB_TRACE_NEVENTS
};
static_assert((int)NB_TRACE_GIN_PUT > (int)NB_EVENT_CONTEXT,
	      "NCCL's events are below");
#define NB_TRACE_BIT(name) (1u << NB_TRACE_##name)
#define NB_TRACE_GIN                                     \
	(NB_TRACE_BIT(GIN_PUT) | NB_TRACE_BIT(GIN_GET) | \
	 NB_TRACE_BIT(GIN_SIGNAL))
/* "gin_put", or nb_event_word; NULL for other numbers. */
const char *nb_trace_event_word(unsigned event);

/* The words of a span. Times are CPU, ns, of nb_clock; 0: not known. */
enum nb_trace_span_word {
	NB_SPAN_WHAT, /* NB_SPAN_AT_* */
	NB_SPAN_START,
	NB_SPAN_END,	/* of tasks: when NCCL had enqueued it */
	NB_SPAN_COMM,	/* identity */
	NB_SPAN_WHO,	/* rank 32, peer or root 32 */
	NB_SPAN_ID,	/* kind and number, as in a handle */
	NB_SPAN_PARENT, /* kind and number of the parent; 0: unknown */
	NB_SPAN_SEQ,	/* number of a collective; step of a step; thread of
			 * an API call */
	NB_SPAN_BYTES,
	/* tasks: execution time in ns + 1, its source, the time when the task
	 * was complete, the number of the tuner's decisions at its start, and
	 * the slot that counts them */
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
	/* puts and gets: ns held back by a program, the signal operation, the
	 * signal's index, its value */
	NB_SPAN_GIN = NB_SPAN_EXEC,
	/* signals: the same words, the first is the number of puts since the
	 * peer's last signal; NB_SPAN_BYTES are theirs */
	NB_SPAN_ERROR = NB_SPAN_SLOT, /* puts and gets: their result */
	NB_SPAN_WORDS = 15
};
enum {
	NB_SPAN_AT_EVENT = 0,
	NB_SPAN_AT_FUNC = 8,
	NB_SPAN_AT_ALGO = 16,
	NB_SPAN_AT_PROTO = 24,
	NB_SPAN_AT_CHANNELS = 32, /* task: channels; GIN: the context; others:
				   * the channel */
	NB_SPAN_AT_SEND = 40,
	NB_SPAN_AT_GPU = 41 /* the kernel has told the GPU's clock */
};

struct nb_trace_span {
	uint64_t word[NB_SPAN_WORDS];
};

/* Bits of events that traces record: NB_EVENT_BIT()s and NB_TRACE_BIT()s.
 * NCCL's threads check it for each event. */
static inline uint32_t nb_trace_ring_wanted(void)
{
	return __atomic_load_n(&nb_prof.traced, __ATOMIC_RELAXED);
}

/* Any thread, no lock. */
void nb_trace_ring_add(const struct nb_trace_span *s);

/*
 * nb_trace_ring_open - record events @events, and ask NCCL for them
 * @events: NB_EVENT_BIT()s and NB_TRACE_BIT()s
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

/* The next span's number. Spans with lower numbers were written or dropped. */
uint64_t nb_trace_ring_next(void);
/* Copy span @n; false: overwritten, dropped or not written yet. */
bool nb_trace_ring_read(uint64_t n, struct nb_trace_span *out);
/* Spans dropped because another thread was writing their place. */
uint64_t nb_trace_ring_left_out(void);

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
