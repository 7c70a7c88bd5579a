// SPDX-License-Identifier: MIT
/*
 * Handlers of trace start, stop, status and read, which give access to the
 * trace ring. A stream has its own trace, which ends with its connection. When
 * the last trace ends, NCCL is asked for no more events. A span is an array, to
 * save space; `fields` in the first line names its elements.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plugin/comm/comm.h"
#include "plugin/control/connection.h"
#include "plugin/control/reply.h"
#include "plugin/policies/generations.h"
#include "plugin/policies/history.h"
#include "plugin/profiler/events.h"
#include "plugin/trace/ring.h"
#include "plugin/runtime/clock.h"
#include "plugin/runtime/lock.h"
#include "plugin/runtime/wall_clock.h"
#include "plugin/verbs/verbs.h"

static const char *const trace_fields[] = { "event", "start_ns", "end_ns", "comm",    "comm_rank",
					    "peer",  "id",	 "parent", "seq",     "bytes",
					    "coll",  "algo",	 "proto",  "channel", "send",
					    "x0",    "x1",	 "x2",	   "x3",      "decision",
					    "error", "device",	 "tag" };

static uint64_t span_byte(const struct nb_trace_span *s, int at)
{
	return s->word[NB_SPAN_WHAT] >> at & 255;
}

static void trace_put_decision(struct nb_json *j, const struct nb_trace_span *s)
{
	struct nb_packed packed;
	struct nb_decision d;

	memcpy(packed.word, &s->word[NB_SPAN_DECISION], sizeof(packed.word));
	if (!s->word[NB_SPAN_DECIDED] ||
	    !nb_unpack(&packed, &s->word[NB_SPAN_CHUNK], s->word[NB_SPAN_DECIDED] - 1, &d)) {
		nb_json_null(j);
		return;
	}
	nb_json_obj(j);
	nb_json_ku64(j, "seq", d.seq);
	nb_json_ku64(j, "bytes", d.bytes);
	nb_cmd_choice(j, "nccl", d.nccl_algo, d.nccl_proto);
	nb_cmd_answer(j, "answer", &d);
	nb_json_kstr(j, "by", nb_gens_policy_name(d.generation, d.by));
	nb_json_ku64(j, "generation", nb_history_number(d.generation));
	nb_cmd_cost(j, "cost_us", d.cost_us);
	nb_json_end_obj(j);
}

static bool is_task(uint64_t event)
{
	return event == NB_EVENT_COLL || event == NB_EVENT_P2P;
}

static void put_adapter(struct nb_json *j, uint32_t number)
{
	const struct nb_tap_api *tap = nb_verbs_tap();
	const char *name = tap ? tap->adapter(number) : NULL;

	nb_json_str(j, name ? name : "");
}

static void put_span(struct nb_json *j, const struct nb_trace_span *s)
{
	uint64_t event = span_byte(s, NB_SPAN_AT_EVENT);
	char comm[24];

	snprintf(comm, sizeof(comm), "%016llx", (unsigned long long)s->word[NB_SPAN_COMM]);
	nb_json_arr(j);
	nb_json_str(j, nb_event_word((unsigned)event));
	nb_json_u64(j, s->word[NB_SPAN_START]);
	nb_json_u64(j, s->word[NB_SPAN_END]);
	nb_json_str(j, comm);
	nb_json_i64(j, (int32_t)s->word[NB_SPAN_WHO]);
	nb_json_i64(j, (int32_t)(s->word[NB_SPAN_WHO] >> 32));
	nb_json_u64(j, s->word[NB_SPAN_ID]);
	nb_json_u64(j, s->word[NB_SPAN_PARENT]);
	nb_json_u64(j, s->word[NB_SPAN_SEQ]);
	nb_json_u64(j, s->word[NB_SPAN_BYTES]);
	nb_json_str(j, nb_tel_func_word((uint32_t)span_byte(s, NB_SPAN_AT_FUNC)));
	nb_json_str(j, nb_tel_algo_word((uint32_t)span_byte(s, NB_SPAN_AT_ALGO)));
	nb_json_str(j, nb_nccl_proto((int)span_byte(s, NB_SPAN_AT_PROTO)));
	nb_json_u64(j, span_byte(s, NB_SPAN_AT_CHANNELS));
	nb_json_bool(j, s->word[NB_SPAN_WHAT] >> NB_SPAN_AT_SEND & 1);
	nb_json_u64(j, s->word[NB_SPAN_EXEC]);
	if (is_task(event)) {
		nb_json_str(j, nb_tel_source_word((unsigned)s->word[NB_SPAN_SOURCE]));
		nb_json_u64(j, s->word[NB_SPAN_DONE]);
		nb_json_u64(j, s->word[NB_SPAN_DECIDED]);
		trace_put_decision(j, s);
	} else {
		for (int i = 1; i < 4; i++)
			nb_json_u64(j, s->word[NB_SPAN_EXEC + i]);
		nb_json_null(j);
	}
	if (event == NB_TRACE_GIN_PUT || event == NB_TRACE_GIN_GET || 1u << event & NB_TRACE_VERBS)
		nb_json_i64(j, (int64_t)s->word[NB_SPAN_ERROR]);
	else
		nb_json_null(j);
	if (1u << event & NB_TRACE_VERBS) {
		put_adapter(j, (uint32_t)(s->word[NB_SPAN_WHO] >> 32));
	} else if (is_task(event) && s->word[NB_SPAN_TAG]) {
		nb_json_null(j);
		nb_json_u64(j, s->word[NB_SPAN_TAG]);
	}
	nb_json_end_arr(j);
}

struct reader {
	/* events of the stream's own trace; 0 if it has none */
	uint32_t events;
	uint64_t next, lost, left_out;
	bool told; /* the client has received the names of the fields */
};

static void put_fields(struct nb_json *j)
{
	/* hosts start their monotonic clocks at different times */
	nb_json_ku64(j, "wall_ns", nb_wall_us() * 1000 - nb_clock_system());
	nb_json_karr(j, "fields");
	for (size_t i = 0; i < sizeof(trace_fields) / sizeof(trace_fields[0]); i++)
		nb_json_str(j, trace_fields[i]);
	nb_json_end_arr(j);
}

/* Write as many spans from @r->next on as fit: {"spans":[…],…}. */
static void put_spans(struct nb_json *j, struct reader *r)
{
	uint64_t end = nb_trace_ring_next(), given = 0, gone = 0;
	uint64_t left_out = nb_trace_ring_left_out();

	if (end - r->next > NB_SPANS) {
		gone = end - NB_SPANS - r->next;
		r->next = end - NB_SPANS;
	}
	if (!r->told)
		put_fields(j);
	r->told = true;
	nb_json_karr(j, "spans");
	for (; r->next < end && nb_cmd_room(j); r->next++) {
		struct nb_trace_span s;

		if (!nb_trace_ring_read(r->next, &s)) {
			/* count a span that is still being written as lost */
			gone++;
			continue;
		}
		if (r->events && !(r->events >> span_byte(&s, NB_SPAN_AT_EVENT) & 1))
			continue;
		put_span(j, &s);
		given++;
	}
	nb_json_end_arr(j);
	r->lost += gone;
	nb_json_ku64(j, "given", given);
	nb_json_ku64(j, "lost", r->lost);
	nb_json_ku64(j, "left_out", left_out - r->left_out);
	nb_json_kbool(j, "more", r->next < end);
	nb_json_ku64(j, "next", r->next);
}

static int poll_spans(void *state, struct nb_json *out, struct nb_err *err)
{
	(void)err;
	nb_lock(NB_LOCK_STATE);
	put_spans(out, state);
	nb_unlock(NB_LOCK_STATE);
	/* send a line without spans, too, because readers use it as a clock */
	return 1;
}

static void free_reader(void *state)
{
	struct reader *r = state;

	if (r->events) {
		nb_trace_ring_close(r->events);
		nb_events_ask();
	}
	free(r);
}

static int event_of(const char *word, size_t n)
{
	for (unsigned i = 0; i < NB_TRACE_NEVENTS; i++) {
		const char *w = nb_event_word(i);

		if (w && strlen(w) == n && !memcmp(w, word, n))
			return (int)i;
	}
	return -1;
}

/* Events that the command trace can record. */
static const uint32_t can = NB_EVENT_BIT(GROUP) | NB_EVENT_BIT(COLL) | NB_EVENT_BIT(P2P) |
			    NB_EVENT_BIT(PROXY_OP) | NB_EVENT_BIT(PROXY_STEP) |
			    NB_EVENT_BIT(KERNEL_CH) | NB_EVENT_BIT(GROUP_API) |
			    NB_EVENT_BIT(COLL_API) | NB_EVENT_BIT(P2P_API) |
			    NB_EVENT_BIT(KERNEL_LAUNCH) | NB_TRACE_GIN | NB_TRACE_VERBS;

static int events_of(const char *list, uint32_t *out, struct nb_err *err)
{
	uint32_t bits = 0;

	*out = can;
	if (!list)
		return 0;
	for (const char *w = list; *w;) {
		size_t n = strcspn(w, ",");
		int e = event_of(w, n);

		if (e < 0 || !(can >> e & 1))
			return nb_fail(
				err, NB_E_ARG, 0,
				"option events=: %.*s: "
				"group, coll, p2p, proxy_op, proxy_step, kernel_ch, group_api, "
				"coll_api, p2p_api, kernel_launch, gin_put, gin_get, "
				"gin_signal, verbs_qp, verbs_post and verbs_done are known",
				(int)(n < 40 ? n : 40), w);
		bits |= 1u << e;
		w += n + (w[n] == ',');
	}
	if (!bits)
		return nb_fail(err, NB_E_ARG, 0, "option events=: no event");
	*out = bits;
	return 0;
}

static void event_list(struct nb_json *j, const char *key, uint32_t bits)
{
	nb_json_karr(j, key);
	for (unsigned i = 0; i < NB_TRACE_NEVENTS; i++)
		if (bits >> i & 1)
			nb_json_str(j, nb_event_word(i));
	nb_json_end_arr(j);
}

static void put_trace(struct nb_json *j)
{
	uint64_t next = nb_trace_ring_next();

	nb_json_kbool(j, "recording", nb_trace_ring_recorded() != 0);
	nb_json_ku64(j, "traces", nb_trace_ring_traces());
	event_list(j, "events", nb_trace_ring_wanted());
	event_list(j, "asked", nb_events_mask());
	nb_json_ku64(j, "profiler_abi", nb_events_abi());
	nb_cmd_refused_json(j);
	nb_json_ku64(j, "written", next);
	nb_json_ku64(j, "in_ring", next < NB_SPANS ? next : NB_SPANS);
	nb_json_ku64(j, "room", NB_SPANS);
	nb_json_ku64(j, "left_out", nb_trace_ring_left_out());
}

static int follow_trace(struct nb_call *call, uint32_t events)
{
	struct reader *r = calloc(1, sizeof(*r));
	int rc;

	if (!r)
		return nb_fail(call->err, NB_E_NOMEM, 0, "trace start: no memory");
	r->next = nb_trace_ring_next();
	r->left_out = nb_trace_ring_left_out();
	rc = nb_trace_ring_open(events, call->err);
	if (!rc) {
		r->events = events;
		nb_events_ask();
		rc = nb_conn_follow(call->conn, call->req, poll_spans, r, free_reader, call->err);
	}
	if (rc)
		free_reader(r);
	else
		put_spans(call->out, r);
	return rc;
}

static int trace_set_events(struct nb_call *call, uint32_t events)
{
	int rc = nb_trace_ring_record(events, call->err);

	if (rc)
		return rc;
	nb_events_ask();
	put_trace(call->out);
	return 0;
}

int nb_cmd_trace_start(struct nb_call *call)
{
	uint32_t events;
	int rc = events_of(nb_request_opt(call->req, "events"), &events, call->err);

	if (rc)
		return rc;
	if (nb_request_yes(call->req, "follow", false))
		return follow_trace(call, events);
	return trace_set_events(call, events);
}

int nb_cmd_trace_stop(struct nb_call *call)
{
	return trace_set_events(call, 0);
}

int nb_cmd_trace_status(struct nb_call *call)
{
	put_trace(call->out);
	return 0;
}

int nb_cmd_trace_read(struct nb_call *call)
{
	struct reader r = { .left_out = 0 };
	int rc = nb_cmd_number(call, "after", 0, UINT64_MAX >> 1, &r.next);

	if (rc)
		return rc;
	if (r.next > nb_trace_ring_next())
		r.next = nb_trace_ring_next();
	put_spans(call->out, &r);
	return 0;
}
