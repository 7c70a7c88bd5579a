// SPDX-License-Identifier: MIT
/*
 * Handlers of decision tail and trace tail. They send the contents of the
 * rings, and in a stream also what is added later. A cursor for each ring
 * records what the client has received. Writers never wait for readers, so
 * overwritten elements are counted as "lost".
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/utc.h"
#include "plugin/comm/comm.h"
#include "plugin/control/connection.h"
#include "plugin/control/reply.h"
#include "plugin/policies/held.h"
#include "plugin/runtime/lock.h"

enum { TAIL_DEFAULT = 20, TAIL_MOST = NB_RING, BATCH = 1024, TRACE_BATCH = 64 };

/*
 * How far the client has read a rank's decisions. A later communicator may get
 * the same address, so identity and slot are compared, too.
 */
struct seen {
	const struct nb_comm *comm;
	uint64_t comm_id, next;
	uint32_t slot;
	bool here; /* the rank was found in the current pass */
};

struct decisions {
	struct nb_comm_option only;
	struct seen *seen;
	uint32_t n, room;
	uint64_t lost, given;
};

static void tail_put_decision(struct nb_json *j, const struct nb_comm *c,
			      const struct nb_decision *d)
{
	nb_json_obj(j);
	nb_json_kid(j, "comm", c->init.comm_id);
	nb_json_ku64(j, "slot", c->slot_index);
	nb_json_ku64(j, "seq", d->seq);
	nb_json_kstr(j, "coll", nb_nccl_coll(d->coll));
	nb_json_ku64(j, "bytes", d->bytes);
	nb_cmd_decision(j, d);
	nb_cmd_context(j, c, d);
	nb_json_end_obj(j);
}

static bool comm_wanted(const struct decisions *ds, const struct nb_comm *c)
{
	return nb_comm_wanted(&ds->only, c->init.comm_id);
}

static struct seen *tail_seen_of(struct decisions *ds, const struct nb_comm *c, uint64_t from)
{
	struct seen *s;

	for (uint32_t i = 0; i < ds->n; i++) {
		s = &ds->seen[i];
		if (s->comm == c && s->comm_id == c->init.comm_id && s->slot == c->slot_index &&
		    s->next <= nb_comm_decisions(c))
			return s;
	}
	if (ds->n == ds->room) {
		uint32_t room = ds->room ? 2 * ds->room : 16;

		s = realloc(ds->seen, room * sizeof(*s));
		if (!s)
			return NULL;
		ds->seen = s;
		ds->room = room;
	}
	s = &ds->seen[ds->n++];
	*s = (struct seen){
		.comm = c, .comm_id = c->init.comm_id, .slot = c->slot_index, .next = from
	};
	return s;
}

/* Drop the cursors of ranks that have ended. */
static void forget_ranks(struct decisions *ds)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < ds->n; i++)
		if (ds->seen[i].here)
			ds->seen[kept++] = ds->seen[i];
	ds->n = kept;
}

/* Write new decisions of one rank, @most at most. */
static void rank_news(struct nb_json *j, struct decisions *ds, const struct nb_comm *c,
		      struct seen *s, uint64_t most)
{
	uint64_t end = nb_comm_decisions(c), until = ds->given + most;
	struct nb_decision d;

	if (end - s->next > NB_RING) {
		ds->lost += end - NB_RING - s->next;
		s->next = end - NB_RING;
	}
	for (; s->next < end && ds->given < until && nb_cmd_room(j); s->next++) {
		if (!nb_comm_decision(c, s->next, &d)) {
			ds->lost++;
			continue;
		}
		tail_put_decision(j, c, &d);
		ds->given++;
	}
}

/* Returns how many of @total lines each wanted rank may write. */
static uint64_t share_of(const struct decisions *ds, uint64_t total)
{
	uint64_t n = 0;

	for (const struct nb_comm *c = nb_comms.first; c; c = c->next)
		n += comm_wanted(ds, c);
	return n ? (total + n - 1) / n : total;
}

/*
 * Write the decisions after the cursors as {"decisions":[…],"lost":N}, rank by
 * rank, about @total at most. The cursor of a new rank starts @back decisions
 * before the rank's last one.
 */
static void put_decisions(struct nb_json *j, struct decisions *ds, uint64_t total, uint64_t back)
{
	uint64_t most = share_of(ds, total);

	nb_json_karr(j, "decisions");
	for (uint32_t i = 0; i < ds->n; i++)
		ds->seen[i].here = false;
	for (const struct nb_comm *c = nb_comms.first; c; c = c->next) {
		uint64_t n = nb_comm_decisions(c);
		struct seen *s;

		if (!comm_wanted(ds, c))
			continue;
		s = tail_seen_of(ds, c, n > back ? n - back : 0);
		if (!s)
			/*
			 * no memory: the next line will contain these decisions
			 */
			break;
		s->here = true;
		rank_news(j, ds, c, s, most);
	}
	nb_json_end_arr(j);
	nb_json_ku64(j, "lost", ds->lost);
	forget_ranks(ds);
}

static int poll_decisions(void *state, struct nb_json *out, struct nb_err *err)
{
	struct decisions *ds = state;
	bool any;

	(void)err;
	ds->lost = ds->given = 0;
	nb_lock(NB_LOCK_STATE);
	/*
	 * UINT64_MAX: report all decisions of a rank that starts while the
	 * stream runs
	 */
	put_decisions(out, ds, BATCH, UINT64_MAX);
	nb_unlock(NB_LOCK_STATE);
	any = ds->given || ds->lost;
	return any ? 1 : 0;
}

static void free_decisions(void *state)
{
	struct decisions *ds = state;

	free(ds->seen);
	free(ds);
}

/*
 * Returns the state of a decision tail. It returns NULL, with the error filled,
 * if there is no memory or comm= is not an identity.
 */
static struct decisions *decisions_new(struct nb_call *call)
{
	struct decisions *ds = calloc(1, sizeof(*ds));

	if (!ds) {
		nb_fail(call->err, NB_E_NOMEM, 0, "decision tail: no memory");
		return NULL;
	}
	if (nb_cmd_comm(call, &ds->only)) {
		free_decisions(ds);
		return NULL;
	}
	return ds;
}

int nb_cmd_decision_tail(struct nb_call *call)
{
	struct decisions *ds;
	uint64_t total = TAIL_DEFAULT;
	bool follow = nb_request_yes(call->req, "follow", false);
	int rc = nb_cmd_number(call, "count", follow ? 0 : 1, TAIL_MOST, &total);

	if (rc)
		return rc;
	ds = decisions_new(call);
	if (!ds)
		return call->err->code;
	put_decisions(call->out, ds, total, share_of(ds, total));
	if (follow)
		rc = nb_conn_follow(call->conn, call->req, poll_decisions, ds, free_decisions,
				    call->err);
	else
		free_decisions(ds);
	if (rc)
		free_decisions(ds);
	return rc;
}

struct trace_seen {
	/* a reference, which keeps the policy's ring alive */
	struct nb_policy *policy;
	uint64_t next;
	bool here;
};

struct traces {
	struct trace_seen seen[NB_MAX_HELD];
	uint32_t n;
	uint64_t lost, given;
};

/* A trace line and the policy that printed it, for sorting by time. */
struct trace_item {
	const struct nb_policy *policy;
	struct nb_trace_line line;
};

static void trace_line(struct nb_json *j, const struct trace_item *t)
{
	char text[NB_UTC_TEXT];

	nb_json_obj(j);
	nb_json_kstr(j, "policy", t->policy->img->name);
	nb_json_ku64(j, "number", t->line.number);
	nb_json_kstr(j, "time", nb_utc_text(text, t->line.time_ns, 6));
	nb_json_kstr(j, "text", t->line.text);
	nb_json_end_obj(j);
}

static int by_time(const void *a, const void *b)
{
	const struct trace_item *x = a, *y = b;

	if (x->line.time_ns != y->line.time_ns)
		return x->line.time_ns < y->line.time_ns ? -1 : 1;
	if (x->line.number != y->line.number)
		return x->line.number < y->line.number ? -1 : 1;
	return 0;
}

static struct trace_seen *trace_seen_of(struct traces *ts, struct nb_policy *p, uint64_t from_end)
{
	uint64_t next = nb_trace_next(p->trace);
	struct trace_seen *s;

	for (uint32_t i = 0; i < ts->n; i++)
		if (ts->seen[i].policy == p)
			return &ts->seen[i];
	if (ts->n == NB_MAX_HELD)
		return NULL;
	s = &ts->seen[ts->n++];
	s->policy = nb_policy_get(p);
	s->next = next > from_end ? next - from_end : 0;
	return s;
}

/* Release the rings of policies that are no longer held. */
static void trace_forget(struct traces *ts)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < ts->n; i++) {
		if (ts->seen[i].here)
			ts->seen[kept++] = ts->seen[i];
		else
			nb_policy_put(ts->seen[i].policy);
	}
	ts->n = kept;
}

static void trace_collect(struct traces *ts, struct trace_seen *s, struct trace_item *items,
			  uint64_t most)
{
	uint64_t end = nb_trace_next(s->policy->trace);
	uint64_t until = ts->given + most;

	if (end - s->next > NB_TRACE_LINES) {
		ts->lost += end - NB_TRACE_LINES - s->next;
		s->next = end - NB_TRACE_LINES;
	}
	for (; s->next < end && ts->given < until; s->next++) {
		struct trace_item *t = &items[ts->given];

		t->policy = s->policy;
		if (nb_trace_read(s->policy->trace, s->next, &t->line))
			ts->given++;
		else
			ts->lost++;
	}
}

/*
 * Returns the trace lines after the cursors, @most of each policy at most,
 * sorted by time. The caller frees them. Returns NULL if there is no memory.
 * The cursor of a new policy starts @back lines before the end of its ring.
 */
static struct trace_item *trace_news(struct traces *ts, uint64_t most, uint64_t back)
{
	struct trace_item *items;

	ts->lost = ts->given = 0;
	for (uint32_t i = 0; i < ts->n; i++)
		ts->seen[i].here = false;
	nb_lock(NB_LOCK_STATE);
	items = calloc(nb_held.n * most + 1, sizeof(*items));
	for (uint32_t i = 0; items && i < nb_held.n; i++) {
		struct nb_policy *p = nb_held.at[i].policy;
		struct trace_seen *s = p->trace ? trace_seen_of(ts, p, back) : NULL;

		if (!s)
			continue;
		s->here = true;
		trace_collect(ts, s, items, most);
	}
	nb_unlock(NB_LOCK_STATE);
	if (items)
		qsort(items, ts->given, sizeof(*items), by_time);
	return items;
}

static void trace_lines(struct nb_json *j, const struct traces *ts, const struct trace_item *items,
			uint64_t last)
{
	uint64_t from = ts->given > last ? ts->given - last : 0;

	nb_json_karr(j, "lines");
	for (uint64_t i = from; i < ts->given; i++)
		trace_line(j, &items[i]);
	nb_json_end_arr(j);
	nb_json_ku64(j, "lost", ts->lost);
}

static int poll_traces(void *state, struct nb_json *out, struct nb_err *err)
{
	struct traces *ts = state;
	struct trace_item *items = trace_news(ts, TRACE_BATCH, UINT64_MAX);
	bool any = items && (ts->given || ts->lost);

	(void)err;
	if (any)
		trace_lines(out, ts, items, UINT64_MAX);
	free(items);
	if (items)
		trace_forget(ts);
	return any ? 1 : 0;
}

static void free_traces(void *state)
{
	struct traces *ts = state;

	for (uint32_t i = 0; i < ts->n; i++)
		nb_policy_put(ts->seen[i].policy);
	free(ts);
}

int nb_cmd_trace_tail(struct nb_call *call)
{
	struct traces *ts;
	struct trace_item *items;
	uint64_t total = TAIL_DEFAULT;
	bool follow = nb_request_yes(call->req, "follow", false);
	int rc = nb_cmd_number(call, "count", follow ? 0 : 1, TAIL_MOST, &total);

	if (rc)
		return rc;
	ts = calloc(1, sizeof(*ts));
	items = ts ? trace_news(ts, total, total) : NULL;
	if (!items) {
		if (ts)
			free_traces(ts);
		return nb_fail(call->err, NB_E_NOMEM, 0, "trace tail: no memory");
	}
	trace_lines(call->out, ts, items, total);
	free(items);
	if (follow) {
		rc = nb_conn_follow(call->conn, call->req, poll_traces, ts, free_traces, call->err);
		if (!rc)
			return 0; /* the stream owns the cursors now */
	}
	free_traces(ts);
	return rc;
}
