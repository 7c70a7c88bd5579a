// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_TRACE_RING_H
#define NB_PLUGIN_TRACE_RING_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/job/segment/packed.h"
#include "plugin/trace/trace.h"

/*
 * The process's ring of finished events, which `trace start` records.
 * NCCL's threads write and never wait: a writer drops and counts a span if
 * another thread still writes its entry. Each reader has its own position. A
 * reader that is a whole ring behind misses spans.
 *
 * The first trace allocates the ring.
 */
enum { NB_SPANS = 1 << 15 };

/* The words of a span. Times are CPU times in ns (nb_clock_system); 0 if not known. */
enum nb_trace_span_word {
	NB_SPAN_WHAT, /* packed fields at the bit positions NB_SPAN_AT_* */
	NB_SPAN_START,
	/* end of the event; for tasks, the time when NCCL had enqueued it */
	NB_SPAN_END,
	NB_SPAN_COMM,	/* identity of the communicator */
	NB_SPAN_WHO,	/* rank (32 bits), peer or root (32 bits) */
	NB_SPAN_ID,	/* kind and number of the event, as in a handle */
	NB_SPAN_PARENT, /* kind and number of the parent; 0 if unknown */
	/*
	 * of a collective: its number; of a proxy step: the number of the step;
	 * of an API call: its thread
	 */
	NB_SPAN_SEQ,
	NB_SPAN_BYTES,
	/*
	 * Words of tasks: execution time in ns + 1, source of that time, time
	 * when the task was complete, number of the tuner's decision that it
	 * ran with + 1 or 0 if it is not known, and that decision (struct
	 * nb_packed). A reader that is late finds it here after the tuner's
	 * ring has lost it.
	 */
	NB_SPAN_EXEC,
	NB_SPAN_SOURCE,
	NB_SPAN_DONE,
	NB_SPAN_DECIDED,
	NB_SPAN_DECISION,
	/* words of kernel records: the GPU's clock at start and stop */
	NB_SPAN_GPU_START = NB_SPAN_EXEC,
	NB_SPAN_GPU_STOP = NB_SPAN_SOURCE,
	/*
	 * words of steps: ns spent waiting for the GPU, the peer, the network,
	 * a flush
	 */
	NB_SPAN_WAITS = NB_SPAN_EXEC,
	/*
	 * words of puts and gets: the delay by a program in ns, the signal
	 * operation, the signal's index and value
	 */
	NB_SPAN_GIN = NB_SPAN_EXEC,
	/*
	 * Words of signals: as for puts, but the first is the number of puts
	 * since the peer's last signal. NB_SPAN_BYTES is the size of these
	 * puts.
	 */
	/*
	 * Spans of the tap. NB_SPAN_WHO is the number of the adapter instead of
	 * the peer, NB_SPAN_SEQ the number of the queue pair.
	 * Words of state changes: state reached, phase (as in struct
	 * ncclbpf_verbs_qp), peer's queue pair.
	 * Words of posts: operation, number of work requests, number of
	 * outstanding requests.
	 * Words of messages: operation, number of requests that the completion
	 * retires, number of outstanding requests, status.
	 */
	NB_SPAN_VERBS = NB_SPAN_EXEC,
	/* result of a put, get, state change or post; 0: success */
	NB_SPAN_ERROR = NB_SPAN_DECISION,
	/* word of tasks: the application's tag, or 0 */
	NB_SPAN_TAG = NB_SPAN_DECISION + NB_PACKED_WORDS,
	/* word of tasks: the word of the decision's chunk size (packed.h) */
	NB_SPAN_CHUNK,
	NB_SPAN_WORDS
};
enum {
	NB_SPAN_AT_EVENT = 0,
	NB_SPAN_AT_FUNC = 8,
	NB_SPAN_AT_ALGO = 16,
	NB_SPAN_AT_PROTO = 24,
	/*
	 * tasks: number of channels; GIN: index of the context; others: index
	 * of the channel
	 */
	NB_SPAN_AT_CHANNELS = 32,
	NB_SPAN_AT_SEND = 40,
	/* bit that is set if the kernel has reported the GPU's clock */
	NB_SPAN_AT_GPU = 41
};

struct nb_trace_span {
	uint64_t word[NB_SPAN_WORDS];
};

/*
 * Pack the fields of a span's word NB_SPAN_WHAT. The bits for the direction
 * (NB_SPAN_AT_SEND) and the GPU's clock (NB_SPAN_AT_GPU) stay 0. @func, @algo
 * and @proto may be NB_WORD_NONE.
 */
static inline uint64_t nb_span_what(uint64_t event, uint32_t func, uint32_t algo, uint32_t proto,
				    uint32_t channels)
{
	return event | (uint64_t)func << NB_SPAN_AT_FUNC | (uint64_t)algo << NB_SPAN_AT_ALGO |
	       (uint64_t)proto << NB_SPAN_AT_PROTO | (uint64_t)channels << NB_SPAN_AT_CHANNELS;
}

/* Add a span. Any thread may call it; it takes no lock. */
void nb_trace_ring_add(const struct nb_trace_span *s);

/*
 * nb_trace_ring_open - record events
 * @events: bits NB_EVENT_BIT() and NB_TRACE_BIT()
 *
 * Each open needs a close with the same bits. After each call of it and of the
 * two functions below the caller asks NCCL for the events (nb_events_ask).
 * Returns 0 or NB_E_NOMEM. NCCL's threads must not call it.
 */
int nb_trace_ring_open(uint32_t events, struct nb_err *err);
void nb_trace_ring_close(uint32_t events);
/* Returns the number of open traces. */
uint32_t nb_trace_ring_traces(void);
/*
 * Start, change or end (@events 0) the trace that outlives its connection.
 * Returns as nb_trace_ring_open does.
 */
int nb_trace_ring_record(uint32_t events, struct nb_err *err);
uint32_t nb_trace_ring_recorded(void);

/*
 * Returns the number of the next span. Spans with lower numbers were written or
 * dropped.
 */
uint64_t nb_trace_ring_next(void);
/*
 * Copy span @n. Returns false if it was overwritten or dropped, or is not yet
 * written.
 */
bool nb_trace_ring_read(uint64_t n, struct nb_trace_span *out);
/*
 * Returns the number of spans dropped because another thread was writing their
 * entry.
 */
uint64_t nb_trace_ring_left_out(void);

/* Close all traces in a forked child. */
void nb_trace_ring_forked(void);

#endif
