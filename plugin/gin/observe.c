// SPDX-License-Identifier: MIT
/*
 * Latencies and trace spans of GIN operations. Only the data-path thread of a
 * collComm writes them; the control thread reads and resets them.
 */
#include "plugin/gin/observe.h"

#include "plugin/gin/list.h"
#include "plugin/runtime/clock.h"
#include "plugin/runtime/relaxed.h"

static uint64_t span_what(enum nb_trace_event event, uint32_t context)
{
	return nb_span_what(event, NB_WORD_NONE, NB_WORD_NONE, NB_WORD_NONE, context & 255) |
	       (uint64_t)(event == NB_TRACE_GIN_PUT) << NB_SPAN_AT_SEND;
}

static uint64_t span_who(const struct nb_gin_coll *c, uint32_t peer)
{
	return (uint64_t)(uint32_t)c->rank | (uint64_t)peer << 32;
}

static uint64_t held_ns(const struct nb_gin_op *op)
{
	return op->release_ns && op->sent_ns > op->post_ns ? op->sent_ns - op->post_ns : 0;
}

static void trace_op(const struct nb_gin_coll *c, const struct nb_gin_op *op,
		     enum nb_trace_event event, uint64_t now, int error)
{
	bool signal = op->kind == NB_GIN_SIGNAL;
	struct nb_trace_span s = {
		.word = {
			[NB_SPAN_WHAT] = span_what(event, op->context),
			[NB_SPAN_START] = op->post_ns,
			[NB_SPAN_END] = now,
			[NB_SPAN_COMM] = c->comm_id,
			[NB_SPAN_WHO] = span_who(c, op->rank),
			[NB_SPAN_ID] = nb_event_id(event, c->id, op->number),
			[NB_SPAN_SEQ] = op->number,
			[NB_SPAN_BYTES] = op->size,
			[NB_SPAN_GIN] = held_ns(op),
			[NB_SPAN_GIN + 1] = signal ? op->signal_op : 0,
			[NB_SPAN_GIN + 2] = signal ? op->signal_off / 8 : 0,
			[NB_SPAN_GIN + 3] = op->signal_op == NB_GIN_INCREMENT
						    ? 1
						    : op->value,
			[NB_SPAN_ERROR] = (uint64_t)error,
		},
	};

	nb_trace_ring_add(&s);
}

void nb_gin_observe_done(const struct nb_gin_context *x, const struct nb_gin_op *op, int error)
{
	size_t at = nb_gin_lane_index(x, op->context, op->rank);
	bool get = op->kind == NB_GIN_GET;
	enum nb_trace_event event = get ? NB_TRACE_GIN_GET : NB_TRACE_GIN_PUT;
	uint64_t now = nb_clock_system();
	uint64_t ns = now > op->post_ns ? now - op->post_ns : 0;

	if (op->kind == NB_GIN_FLUSH)
		return;
	if (!error && nb_tel_wanted() & NB_TEL_ON)
		nb_tel_time_add(&x->times[at].of[get ? NB_GIN_TIME_GET : NB_GIN_TIME_PUT], ns);
	if (nb_trace_ring_wanted() >> event & 1)
		trace_op(x->coll, op, event, op->post_ns + ns, error);
}

void nb_gin_observe_signal(const struct nb_gin_coll *c, const struct nb_gin_arrival *a)
{
	uint64_t now = nb_clock_system();
	struct nb_trace_span s = {
		.word = {
			[NB_SPAN_WHAT] = span_what(NB_TRACE_GIN_SIGNAL, 0),
			[NB_SPAN_START] = now,
			[NB_SPAN_END] = now,
			[NB_SPAN_COMM] = c->comm_id,
			[NB_SPAN_WHO] = span_who(c, a->rank),
			[NB_SPAN_ID] = nb_event_id(NB_TRACE_GIN_SIGNAL, c->id, 0),
			[NB_SPAN_BYTES] = a->bytes,
			[NB_SPAN_GIN] = a->puts,
			[NB_SPAN_GIN + 1] = a->op,
			[NB_SPAN_GIN + 2] = a->offset / 8,
			[NB_SPAN_GIN + 3] = a->value,
		},
	};

	nb_trace_ring_add(&s);
}

void nb_gin_time_sum(struct nb_tel_time *to, const struct nb_tel_time *from)
{
	uint64_t max = GET(from->max_ns);

	to->count += GET(from->count);
	to->sum_ns += GET(from->sum_ns);
	to->max_ns = max > to->max_ns ? max : to->max_ns;
	for (int i = 0; i < NB_HIST_BUCKETS; i++)
		to->hist[i] += GET(from->hist[i]);
}

static bool clear_coll(const struct nb_gin_coll *c, void *arg)
{
	(void)arg;
	for (int i = 0; i < NB_GIN_MAX_CONTEXTS; i++) {
		struct nb_gin_context *x = __atomic_load_n(&c->context[i], __ATOMIC_ACQUIRE);
		size_t n = x ? (size_t)x->ncontexts * (size_t)c->nranks : 0;

		for (size_t l = 0; l < n; l++)
			for (int k = 0; k < NB_GIN_NTIMES; k++)
				if (GET(x->times[l].of[k].count))
					nb_tel_time_clear(&x->times[l].of[k]);
	}
	return true;
}

void nb_gin_times_clear(void)
{
	nb_gin_list_each(clear_coll, NULL);
}
