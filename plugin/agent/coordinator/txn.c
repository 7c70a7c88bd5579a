// SPDX-License-Identifier: MIT
/*
 * The coordinator's transactions. Each compares the revision of the
 * coordinator's key, so none takes effect after the term has ended.
 */
#include "plugin/agent/coordinator/coordinator.h"

#include <stdlib.h>
#include <string.h>

struct call {
	struct nb_coord *c;
	uint64_t term;
	int64_t key_mod;  /* revision of our key that the transaction compares */
	int64_t view_rev; /* revision of the view from which it was made */
	bool watched;
	nb_coord_done_fn *done;
	nb_coord_refused_fn *refused;
};

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
	t->watched |= op.key && op.kind != NB_STORE_GET_PREFIX &&
		      !strncmp(op.key, c->a->own.prefix, strlen(c->a->own.prefix));
	t->op[t->nop++] = op;
}

void nb_coord_txn_put(struct nb_coord *c, struct nb_coord_txn *t, const char *key, json_t *value,
		      int64_t lease)
{
	char *text = json_dumps(value, JSON_COMPACT);

	json_decref(value);
	t->value[t->nvalue++] = text;
	t->size += text ? strlen(text) : 0;
	add_op(c, t, key,
	       (struct nb_store_op){ .kind = NB_STORE_PUT,
				     .value = text,
				     .size = text ? strlen(text) : 0,
				     .lease = lease });
}

void nb_coord_txn_list(struct nb_coord *c, struct nb_coord_txn *t, const char *prefix)
{
	add_op(c, t, prefix,
	       (struct nb_store_op){ .kind = NB_STORE_GET_PREFIX, .keys_only = true });
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
static void term_lose(struct nb_coord *c, const struct nb_err *err)
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
			call.done(c, r);
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
		term_lose(c, r->err);
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
	struct call *call = malloc(sizeof(*call));
	struct nb_err err = { .code = 0 };
	bool fine = call && !check_txn(t, &err);

	if (fine) {
		*call = (struct call){ .c = c,
				       .term = c->term,
				       .key_mod = c->key_mod,
				       .view_rev = c->a->view.revision,
				       .watched = t->watched,
				       .done = done,
				       .refused = t->refused };
		fine = !nb_store_txn(c->a->store, &txn, coord_replied, call, &err);
	}
	if (!fine) {
		free(call);
		if (!err.code)
			nb_fail(&err, NB_E_NOMEM, 0, "no memory");
		c->refused = t->refused;
		c->refusal = err;
		if (!t->refused)
			term_lose(c, &err);
	}
	c->sending = fine;
	c->committing = fine && t->commits;
	nb_coord_txn_free(t);
	return fine;
}

bool nb_coord_current(const struct nb_coord *c)
{
	int64_t rev = c->a->view.revision;

	return !c->sending && rev >= c->done_rev &&
	       (!c->old_rev || rev != c->old_rev ||
		nb_agent_ms() >= c->old_ms + nb_agent_times.retry);
}
