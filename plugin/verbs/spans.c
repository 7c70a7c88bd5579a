// SPDX-License-Identifier: MIT
/*
 * Spans of queue pairs: the calls that change and use them, and each message
 * from its post to its completion. Their times come from the clock of NCCL's
 * events (nb_clock_system).
 */
#include "plugin/verbs/spans.h"

#include "core/defs/ctx.h"
#include "plugin/trace/ring.h"

static bool wanted(enum nb_trace_event event)
{
	return nb_trace_ring_wanted() >> event & 1;
}

static struct nb_trace_span span(enum nb_trace_event event, uint32_t device, uint32_t qp, bool send)
{
	const uint64_t none = NB_WORD_NONE;

	return (struct nb_trace_span){
		.word = {
			[NB_SPAN_WHAT] = (uint64_t)event |
					 none << NB_SPAN_AT_FUNC |
					 none << NB_SPAN_AT_ALGO |
					 none << NB_SPAN_AT_PROTO |
					 (uint64_t)send << NB_SPAN_AT_SEND,
			[NB_SPAN_WHO] = UINT32_MAX | (uint64_t)device << 32,
			[NB_SPAN_SEQ] = qp,
		},
	};
}

static void set_time(struct nb_trace_span *s, uint64_t from, uint64_t to)
{
	s->word[NB_SPAN_START] = from;
	s->word[NB_SPAN_END] = to;
}

static void add_qp(const struct ncclbpf_verbs_qp *c)
{
	enum { BEFORE = 1 };
	struct nb_trace_span s;

	if (c->phase == BEFORE || !wanted(NB_TRACE_VERBS_QP))
		return;
	s = span(NB_TRACE_VERBS_QP, c->device, c->qp, false);
	set_time(&s, c->now_ns - c->ns, c->now_ns);
	s.word[NB_SPAN_VERBS] = c->to;
	s.word[NB_SPAN_VERBS + 1] = c->phase;
	s.word[NB_SPAN_VERBS + 2] = c->peer_qp;
	s.word[NB_SPAN_ERROR] = (uint64_t)c->error;
	nb_trace_ring_add(&s);
}

static void add_post(const struct ncclbpf_verbs_post *c)
{
	struct nb_trace_span s;

	if (!wanted(NB_TRACE_VERBS_POST))
		return;
	s = span(NB_TRACE_VERBS_POST, c->device, c->qp, c->send);
	set_time(&s, c->now_ns, c->now_ns + c->ns);
	s.word[NB_SPAN_BYTES] = c->bytes;
	s.word[NB_SPAN_VERBS] = c->opcode;
	s.word[NB_SPAN_VERBS + 1] = c->requests;
	s.word[NB_SPAN_VERBS + 2] = c->outstanding;
	s.word[NB_SPAN_ERROR] = (uint64_t)c->error;
	nb_trace_ring_add(&s);
}

static void add_done(const struct ncclbpf_verbs_done *c)
{
	struct nb_trace_span s;

	if (!wanted(NB_TRACE_VERBS_DONE))
		return;
	s = span(NB_TRACE_VERBS_DONE, c->device, c->qp, c->send);
	set_time(&s, c->now_ns - c->ns, c->now_ns);
	s.word[NB_SPAN_BYTES] = c->bytes;
	s.word[NB_SPAN_VERBS] = c->opcode;
	s.word[NB_SPAN_VERBS + 1] = c->retired;
	s.word[NB_SPAN_VERBS + 2] = c->outstanding;
	s.word[NB_SPAN_VERBS + 3] = c->status;
	nb_trace_ring_add(&s);
}

void nb_verbs_span(enum nb_hook hook, const void *ctx)
{
	if (hook == NB_HOOK_VERBS_QP)
		add_qp(ctx);
	else if (hook == NB_HOOK_VERBS_POST)
		add_post(ctx);
	else if (hook == NB_HOOK_VERBS_DONE)
		add_done(ctx);
}
