// SPDX-License-Identifier: MIT
/* Spans of NCCL's events, made of their slots when they end. */
#include "plugin/profiler/spans.h"

#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/job/segment/format.h"
#include "plugin/profiler/decided.h"
#include "plugin/runtime/clock.h"
#include "plugin/runtime/relaxed.h"

/* Returns a handle without the process's nonce. */
static uint64_t id_of(uint64_t h)
{
	return h & ((UINT64_C(1) << (NB_HANDLE_KIND + 4)) - 1);
}

static uint64_t rank_and_peer(const struct nb_pcomm *pc, uint64_t peer)
{
	return (uint64_t)(uint32_t)GET(pc->rank) | peer << 32;
}

/*
 * Returns when the task ended: now if the GPU reported its times, else the time
 * of its last event.
 */
static uint64_t task_done_ns(const struct nb_op_slot *s, const struct nb_sample *o)
{
	uint64_t t = GET(s->stop), kernel = GET(s->cpu_last);
	uint64_t proxy = GET(s->proxy_last);

	if (o->source == NB_SOURCE_GPU)
		return nb_clock_system();
	t = kernel > t ? kernel : t;
	return proxy > t ? proxy : t;
}

/* Write into span @p of task @s the decision that it ran with. */
static void note_decision(const struct nb_pcomm *pc, const struct nb_op_slot *s,
			  const struct nb_sample *o, struct nb_trace_span *p)
{
	struct nb_decided_task task = { o->func, o->algo, o->proto, o->bytes };
	struct nb_decided by;

	nb_decided_of(pc, s, &task, &by);
	p->word[NB_SPAN_DECIDED] = by.n;
	if (!by.n)
		return;
	memcpy(&p->word[NB_SPAN_DECISION], by.packed.word, sizeof(by.packed.word));
	p->word[NB_SPAN_CHUNK] = nb_packed_tag(by.n - 1) | by.d.chunk_size;
}

void nb_trace_span_task(const struct nb_pcomm *pc, const struct nb_op_slot *s,
			const struct nb_sample *o, uint64_t n)
{
	uint64_t what = GET(s->what);
	uint64_t event = what >> W_P2P & 1 ? NB_EVENT_P2P : NB_EVENT_COLL;
	struct nb_trace_span p;
	uint64_t *w = p.word;

	if (!(nb_trace_ring_wanted() >> event & 1))
		return;
	memset(&p, 0, sizeof(p));
	w[NB_SPAN_WHAT] = nb_span_what(event, o->func, o->algo, o->proto, o->channels);
	w[NB_SPAN_START] = o->start_ns;
	w[NB_SPAN_END] = GET(s->stop);
	w[NB_SPAN_COMM] = o->comm_id;
	w[NB_SPAN_WHO] = rank_and_peer(pc, (uint32_t)o->peer);
	w[NB_SPAN_ID] = nb_event_id((uint32_t)event, pc->index, n);
	w[NB_SPAN_PARENT] = id_of(GET(s->parent));
	w[NB_SPAN_SEQ] = o->seq;
	w[NB_SPAN_BYTES] = o->bytes;
	w[NB_SPAN_EXEC] = o->has[NB_TEL_EXEC] ? o->ns[NB_TEL_EXEC] + 1 : 0;
	w[NB_SPAN_SOURCE] = o->source;
	w[NB_SPAN_DONE] = task_done_ns(s, o);
	w[NB_SPAN_TAG] = o->tag;
	note_decision(pc, s, o, &p);
	nb_trace_ring_add(&p);
}

/*
 * Returns the calling thread's ID. An API call starts and stops in one thread.
 */
static uint64_t thread_id(void)
{
	static __thread uint64_t tid;
	static __thread pid_t of;

	if (of != nb_prof.pid) {
		of = nb_prof.pid;
		tid = (uint64_t)syscall(SYS_gettid);
	}
	return tid;
}

static void put_details(struct nb_trace_span *p, const struct nb_child_slot *c, uint64_t event)
{
	switch (event) {
	case NB_EVENT_KERNEL_CH:
		p->word[NB_SPAN_GPU_START] = GET(c->timer);
		p->word[NB_SPAN_GPU_STOP] = GET(c->timer_stop);
		break;
	case NB_EVENT_PROXY_STEP:
		p->word[NB_SPAN_SEQ] = GET(c->what) >> C_STEP;
		for (int i = 0; i < 4; i++)
			p->word[NB_SPAN_WAITS + i] = GET(c->waits[i]);
		break;
	case NB_EVENT_GROUP_API:
	case NB_EVENT_COLL_API:
	case NB_EVENT_P2P_API:
	case NB_EVENT_KERNEL_LAUNCH:
		p->word[NB_SPAN_SEQ] = thread_id();
		break;
	default:
		break;
	}
}

void nb_trace_span_child(const struct nb_pcomm *pc, const struct nb_child_slot *c, uint64_t n,
			 uint64_t now)
{
	uint64_t what = GET(c->what), event = what >> C_KIND & 255;
	uint32_t func = event >= NB_EVENT_GROUP_API ? what >> C_FUNC & 255 : (uint32_t)NB_WORD_NONE;
	struct nb_trace_span p;
	uint64_t *w = p.word;

	if (!(nb_trace_ring_wanted() >> event & 1))
		return;
	memset(&p, 0, sizeof(p));
	w[NB_SPAN_WHAT] =
		nb_span_what(event, func, NB_WORD_NONE, NB_WORD_NONE, what >> C_CHANNEL & 255) |
		(what >> C_SEND & 1) << NB_SPAN_AT_SEND | (what >> C_TIMER & 1) << NB_SPAN_AT_GPU;
	w[NB_SPAN_START] = GET(c->start);
	w[NB_SPAN_END] = now;
	w[NB_SPAN_COMM] = GET(pc->comm_id);
	w[NB_SPAN_WHO] = rank_and_peer(pc, GET(c->peer));
	w[NB_SPAN_ID] = nb_event_id((uint32_t)event, pc->index, n);
	w[NB_SPAN_PARENT] = id_of(GET(c->parent));
	w[NB_SPAN_BYTES] = GET(c->bytes);
	put_details(&p, c, event);
	nb_trace_ring_add(&p);
}
