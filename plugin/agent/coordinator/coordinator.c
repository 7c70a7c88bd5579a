// SPDX-License-Identifier: MIT
/*
 * The coordinator: one agent of the fleet, which holds the key
 * order/coordinator under its lease. It acts on a view of one moment of the
 * store, by transactions that compare what they rely on.
 */
#include "plugin/agent/coordinator/coordinator.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plugin/agent/site/follow.h"
#include "plugin/job/segment.h"

enum {
	FIRST_MS = 20,	 /* assumed answer time before the first answer */
	SHORTEST_MS = 2, /* shorter answer times count as this */
	/*
	 * the distance of the fence in ms is this multiple of the answer time
	 */
	LEAD = 2
};

/*
 * take: nb_coord_audit comes after nb_coord_controllers and nb_coord_guard,
 * because it names the maker of the change by what they have kept.
 *
 * due: the first part that begins work keeps the others waiting. The recovery
 * comes first: no change may begin while records that a dead coordinator armed
 * are undecided. A user's request comes before a proposal of controllers, and a
 * guard before a start, because it restores what a lost runner has left.
 * nb_coord_sweep comes last, as nothing waits for it.
 */
const struct nb_coord_part *const nb_coord_parts[NB_COORD_PARTS] = {
	&nb_coord_recovery, &nb_coord_requests, &nb_coord_use,	   &nb_coord_controllers,
	&nb_coord_saved,    &nb_coord_mend,	&nb_coord_members, &nb_coord_notes,
	&nb_coord_guard,    &nb_coord_start,	&nb_coord_audit,   &nb_coord_catch_up,
	&nb_coord_sweep
};

struct nb_coord *nb_coord_new(struct nb_agent *a)
{
	struct nb_coord *c = calloc(1, sizeof(*c));

	if (c)
		c->a = a;
	return c;
}

void nb_coord_free(struct nb_coord *c)
{
	if (!c)
		return;
	nb_coord_change_free(c);
	nb_coord_saving_free(c->saving);
	json_decref(c->saved);
	json_decref(c->proposed);
	json_decref(c->notes);
	free(c);
}

/* What the controllers learn of a change whose coordinator's term ends. */
static const char *interrupted(const struct nb_coord *c)
{
	if (c->by_controllers && c->committing)
		return "the coordinator was interrupted; it is unknown whether "
		       "the change took effect";
	if (c->by_controllers && c->state == NB_COORD_SETTLING)
		return ""; /* it is committed */
	return "the coordinator was interrupted";
}

void nb_coord_reset(struct nb_coord *c)
{
	nb_coord_proposal_end(c, c->proposal, interrupted(c));
	nb_coord_change_free(c);
	nb_coord_saving_free(c->saving);
	c->saving = NULL;
	json_decref(c->saved);
	c->saved = NULL;
	c->term++;
	c->state = NB_COORD_IDLE;
	c->key_mod = c->done_rev = c->old_rev = 0;
	c->recovered = c->sending = c->lost = c->committing = false;
	c->refused = NULL;
}

bool nb_coord_busy(const struct nb_coord *c)
{
	return c->proposed || c->refused || (c->state != NB_COORD_IDLE && !c->sending);
}

/* ---- transactions ---- */

struct call {
	struct nb_coord *c;
	uint64_t term;
	int64_t key_mod;  /* revision of our key that the transaction compares */
	int64_t view_rev; /* revision of the view from which it was made */
	bool watched;
	nb_coord_done_fn *done;
	nb_coord_refused_fn *refused;
	nb_coord_read_fn *read;
};

static struct call *call_new(struct nb_coord *c)
{
	struct call *call = calloc(1, sizeof(*call));

	if (!call)
		return NULL;
	call->c = c;
	call->term = c->term;
	call->key_mod = c->key_mod;
	call->view_rev = c->a->view.revision;
	return call;
}

static char *txn_key(struct nb_coord *c, struct nb_coord_txn *t, const char *key)
{
	return t->key[t->nkey++] = strdup(nb_agent_key(c->a, key));
}

static void add_compare(struct nb_coord *c, struct nb_coord_txn *t, struct nb_store_compare compare)
{
	if (t->ncompare == NB_COORD_OPS) {
		t->full = true;
		return;
	}
	compare.key = txn_key(c, t, compare.key);
	t->compare[t->ncompare++] = compare;
}

void nb_coord_txn_compare(struct nb_coord *c, struct nb_coord_txn *t, const char *key, int64_t mod)
{
	add_compare(c, t, (struct nb_store_compare){ .key = key, .revision = mod });
}

void nb_coord_txn_facts(struct nb_coord *c, struct nb_coord_txn *t)
{
	static const char *const of[] = { "site/", "answer/" };

	for (int i = 0; i < 2; i++)
		add_compare(c, t,
			    (struct nb_store_compare){ .key = of[i],
						       .revision = c->a->view.revision,
						       .prefix = true });
}

static void add_op(struct nb_coord *c, struct nb_coord_txn *t, const char *key,
		   struct nb_store_op op)
{
	op.key = txn_key(c, t, key);
	t->watched |= op.key && !strncmp(op.key, c->a->own.prefix, strlen(c->a->own.prefix));
	t->op[t->nop++] = op;
}

void nb_coord_txn_put(struct nb_coord *c, struct nb_coord_txn *t, const char *key, json_t *value,
		      int64_t lease)
{
	char *text = json_dumps(value, JSON_COMPACT);

	json_decref(value);
	t->value[t->nvalue++] = text;
	add_op(c, t, key,
	       (struct nb_store_op){ .kind = NB_STORE_PUT,
				     .value = text,
				     .size = text ? strlen(text) : 0,
				     .lease = lease });
}

void nb_coord_txn_delete(struct nb_coord *c, struct nb_coord_txn *t, const char *key, int64_t mod)
{
	nb_coord_txn_compare(c, t, key, mod);
	add_op(c, t, key, (struct nb_store_op){ .kind = NB_STORE_DELETE });
}

struct nb_coord_txn *nb_coord_txn_new(struct nb_coord *c)
{
	struct nb_coord_txn *t = calloc(1, sizeof(*t));

	if (t && c->key_mod)
		nb_coord_txn_compare(c, t, "order/coordinator", c->key_mod);
	return t;
}

void nb_coord_txn_free(struct nb_coord_txn *t)
{
	for (size_t i = 0; i < t->nkey; i++)
		free(t->key[i]);
	for (size_t i = 0; i < t->nvalue; i++)
		free(t->value[i]);
	free(t);
}

/*
 * Returns true if the store has not carried out the transaction, and would not
 * if it were sent again. A store that does not answer may answer later, and
 * without our lease (NB_E_NOENT) the term has ended.
 */
static bool is_refusal(const struct nb_store_reply *r)
{
	return !r->unknown && r->err->code != NB_E_STORE && r->err->code != NB_E_TIMEOUT &&
	       r->err->code != NB_E_NOENT && r->err->code != NB_E_NOMEM;
}

/*
 * If a compare does not hold, the store returns the coordinator's key. Without
 * a term (key_mod 0), the transaction claims this key.
 */
static enum nb_coord_outcome outcome_of(const struct call *call, const struct nb_store_reply *r)
{
	if (r->err)
		return call->refused && is_refusal(r) ? NB_COORD_REFUSED : NB_COORD_LOST;
	if (r->succeeded)
		return NB_COORD_DONE;
	if (call->key_mod && (!r->nkv || r->kv[0].mod_revision != call->key_mod))
		return NB_COORD_LOST;
	return NB_COORD_OLD;
}

/* A claim is tried again at intervals: say once why it fails. */
static void lose(struct nb_coord *c, const struct nb_err *err)
{
	if (err && (c->key_mod || !c->told))
		nb_agent_log("the store did not carry out the coordinator's transaction: %s",
			     err->text);
	if (err)
		c->told = !c->key_mod;
	c->lost = true;
}

static void coord_replied(void *arg, const struct nb_store_reply *r)
{
	const struct call call = *(struct call *)arg;
	struct nb_coord *c = call.c;

	free(arg);
	if (call.term != c->term)
		return;
	c->sending = false;
	c->committing &= r->err && r->unknown;
	switch (outcome_of(&call, r)) {
	case NB_COORD_DONE:
		c->old_rev = 0;
		if (call.watched)
			c->done_rev = r->revision;
		if (call.done)
			call.done(c, r->revision);
		break;
	case NB_COORD_OLD:
		c->old_rev = call.view_rev;
		c->old_ms = nb_agent_ms();
		break;
	case NB_COORD_REFUSED:
		c->refused = call.refused;
		c->refusal = *r->err;
		break;
	case NB_COORD_LOST:
		lose(c, r->err);
		break;
	}
}

/* Returns 0 if all of the transaction is there. */
static int check_txn(const struct nb_coord_txn *t, struct nb_err *err)
{
	bool whole = true;

	if (t->full)
		return nb_fail(
			err, NB_E_LIMIT, 0,
			"a change needs more than %d conditions, so it cannot be carried out",
			NB_COORD_OPS);
	for (size_t i = 0; i < t->nkey; i++)
		whole = whole && t->key[i];
	for (size_t i = 0; i < t->nvalue; i++)
		whole = whole && t->value[i];
	return whole ? 0 : nb_fail(err, NB_E_NOMEM, 0, "a value of a transaction cannot be made");
}

bool nb_coord_txn_send(struct nb_coord *c, struct nb_coord_txn *t, nb_coord_done_fn *done)
{
	const struct nb_store_op key = { .kind = NB_STORE_GET,
					 .key = nb_agent_key(c->a, "order/coordinator") };
	const struct nb_store_txn txn = { t->compare, t->ncompare, t->op, t->nop, &key, 1 };
	struct call *call = call_new(c);
	struct nb_err err = { .code = 0 };
	bool fine = call && !check_txn(t, &err);

	if (fine) {
		call->watched = t->watched;
		call->done = done;
		call->refused = t->refused;
		fine = !nb_store_txn(c->a->store, &txn, coord_replied, call, &err);
	}
	if (!fine) {
		free(call);
		if (!err.code)
			nb_fail(&err, NB_E_NOMEM, 0, "no memory");
		c->refused = t->refused;
		c->refusal = err;
		if (!t->refused)
			lose(c, &err);
	}
	c->sending = fine;
	c->committing = fine && t->commits;
	nb_coord_txn_free(t);
	return fine;
}

static void have_read(void *arg, const struct nb_store_reply *r)
{
	const struct call call = *(struct call *)arg;
	bool ours = call.term == call.c->term;

	free(arg);
	if (!ours)
		return;
	call.c->sending = false;
	call.read(call.c, r);
}

bool nb_coord_read(struct nb_coord *c, const struct nb_store_txn *txn, nb_coord_read_fn *done)
{
	struct call *call = call_new(c);

	if (!call)
		return false;
	call->read = done;
	c->sending = !nb_store_txn(c->a->store, txn, have_read, call, NULL);
	if (!c->sending)
		free(call);
	return c->sending;
}

/*
 * Returns true if the view shows what the last transaction wrote, or what
 * refused it. A key that refuses a transaction again and again may be damaged,
 * so that the view cannot show it: try again at intervals.
 */
static bool is_current(const struct nb_coord *c)
{
	int64_t rev = c->a->view.revision;

	return !c->sending && rev >= c->done_rev &&
	       (!c->old_rev || rev != c->old_rev ||
		nb_agent_ms() >= c->old_ms + nb_agent_times.retry);
}

/* ---- the distance of the next fence ---- */

void nb_coord_answered(struct nb_coord *c)
{
	c->answer_ms[c->nanswers++ % NB_COORD_ANSWERS] = nb_agent_ms() - c->arming_ms;
}

/*
 * Before the first answer, the time grows with the number of sites, up to the
 * time of staging, in which each site writes to the store too.
 */
static uint64_t first_ms(const struct nb_coord *c)
{
	uint64_t ms = c->a ? c->a->sites : 0;

	if (ms > c->stage_ms)
		ms = c->stage_ms;
	return ms > FIRST_MS ? ms : FIRST_MS;
}

uint64_t nb_coord_lead_ms(const struct nb_coord *c)
{
	uint64_t most = SHORTEST_MS, second = SHORTEST_MS;

	for (unsigned i = 0; i < NB_COORD_ANSWERS && i < c->nanswers; i++) {
		uint64_t ms = c->answer_ms[i];

		if (ms > most) {
			second = most;
			most = ms;
		} else if (ms > second) {
			second = ms;
		}
	}
	if (!c->nanswers)
		second = first_ms(c);
	else if (c->nanswers == 1)
		second = most;
	/* a rank that is past the fence answers early: try a farther one */
	if (c->tries && second < FIRST_MS)
		second = FIRST_MS;
	return LEAD * second << c->tries;
}

/* ---- the role ---- */

static void coord_claimed(struct nb_coord *c, int64_t revision)
{
	c->key_mod = revision;
	c->told = false;
	nb_agent_log("%s coordinates job %s", c->a->name, c->a->dir.job);
	nb_agent_follow(c->a, true);
}

/*
 * Try to become the coordinator. @mod: revision of the key that an earlier
 * agent of our site left; 0 if there is no such key
 */
static void coord_claim(struct nb_coord *c, int64_t mod)
{
	struct nb_coord_txn *t = nb_coord_txn_new(c);

	if (!t)
		return;
	nb_coord_txn_compare(c, t, "order/coordinator", mod);
	nb_coord_txn_put(c, t, "order/coordinator", json_pack("{s:s}", "site", c->a->name),
			 c->a->lease);
	(void)nb_coord_txn_send(c, t, coord_claimed);
}

/*
 * Returns true if we are the coordinator and have read all keys. Tries to
 * become the coordinator if there is none, or if our term has ended.
 */
static bool is_coordinator(struct nb_coord *c)
{
	const struct nb_view_key *k = nb_view_get(&c->a->view, "order/coordinator");
	bool ours = k && !strcmp(nb_view_str(k->value, "site"), c->a->name);
	bool none = !k || !*nb_view_str(k->value, "site");

	if (c->lost) {
		nb_coord_reset(c);
		c->lost_ms = nb_agent_ms();
	}
	if (!c->a->lease)
		return false;
	if (ours && k->mod == c->key_mod)
		return c->a->whole;
	if (c->key_mod)
		nb_coord_reset(c);
	if (none || ours) {
		if (is_current(c) &&
		    (!c->lost_ms || nb_agent_ms() >= c->lost_ms + nb_agent_times.retry))
			coord_claim(c, k ? k->mod : 0);
	} else if (c->a->whole) {
		nb_agent_follow(c->a, false);
	}
	return false;
}

/* Begin the work that is due between two changes. */
static void coord_idle(struct nb_coord *c)
{
	uint64_t now = nb_agent_ms();
	bool all = now >= c->idle_ms + nb_agent_times.catch_up;

	for (int i = 0; i < NB_COORD_PARTS; i++) {
		const struct nb_coord_part *p = nb_coord_parts[i];

		if (!p->due || (!all && !p->at_once))
			continue;
		if (!p->at_once)
			c->idle_ms = now;
		if (p->due(c))
			return;
	}
}

void nb_coord_tick(struct nb_coord *c)
{
	struct nb_seg_agent *self = &c->a->site.seg->mem->agent;
	bool is = is_coordinator(c);

	__atomic_store_n(&self->coordinates_ms, is && !c->a->away_ms ? self->beat_ms : 0,
			 __ATOMIC_RELEASE);
	if (!is || !is_current(c))
		return;
	if (c->refused) {
		nb_coord_refused_fn *then = c->refused;

		c->refused = NULL;
		then(c);
	} else if (c->state == NB_COORD_IDLE)
		coord_idle(c);
	else
		nb_coord_step(c);
}
