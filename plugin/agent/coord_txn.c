// SPDX-License-Identifier: MIT
/*
 * The coordinator's store transactions. Each compares the revisions of the keys
 * that the coordinator has read, and of the coordinator's own key.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plugin/agent/coord.h"
#include "plugin/agent/group.h"

/* most compares that leave room for those of a guard */
enum { MOST_AGENTS = NB_COORD_OPS - 8 };

void nb_coord_enter(struct nb_coord *c, enum nb_coord_state s, uint64_t ms)
{
	c->state = s;
	c->state_ms = nb_agent_ms();
	c->deadline = c->state_ms + ms;
}

static char *txn_key(struct nb_coord *c, struct nb_coord_txn *t,
		     const char *key)
{
	return t->key[t->nkey++] = strdup(nb_agent_key(c->a, key));
}

static void add_compare(struct nb_coord *c, struct nb_coord_txn *t,
			struct nb_store_compare compare)
{
	if (t->ncompare == NB_COORD_OPS) {
		t->full = true;
		return;
	}
	compare.key = txn_key(c, t, compare.key);
	t->compare[t->ncompare++] = compare;
}

void nb_coord_txn_compare(struct nb_coord *c, struct nb_coord_txn *t,
			  const char *key, int64_t mod)
{
	add_compare(c, t,
		    (struct nb_store_compare){ .key = key, .revision = mod });
}

void nb_coord_txn_compare_prefix(struct nb_coord *c, struct nb_coord_txn *t,
				 const char *prefix, int64_t newest)
{
	add_compare(c, t,
		    (struct nb_store_compare){ .key = prefix,
					       .revision = newest,
					       .prefix = true });
}

static bool is_compared(const struct nb_coord *c, const struct nb_coord_txn *t,
			const char *key)
{
	for (size_t i = 0; i < t->ncompare; i++)
		if (!strcmp(t->compare[i].key, nb_agent_key(c->a, key)))
			return true;
	return false;
}

/*
 * Require that the sites that have destroyed the communicator of @g still have
 * the agents that we know. Returns true if there is such a site.
 */
static bool compare_agents(struct nb_coord *c, struct nb_coord_txn *t,
			   const struct nb_group *g)
{
	const struct nb_view *v = &c->a->view;
	const json_t *members = nb_group_members(v, g);
	const char *name;
	bool any = false;
	size_t i = 0;

	while ((name = nb_group_gone(v, g, members, &i))) {
		const struct nb_view_key *k;
		char key[96];

		snprintf(key, sizeof(key), "site/%s", name);
		k = nb_view_get(v, key);
		if (!k)
			continue; /* all of its processes have ended */
		any = true;
		if (t->ncompare < MOST_AGENTS && !is_compared(c, t, key))
			add_compare(
				c, t,
				(struct nb_store_compare){ .key = key,
							   .revision = k->made,
							   .created = true });
	}
	return any;
}

void nb_coord_txn_compare_gone(struct nb_coord *c, struct nb_coord_txn *t)
{
	const struct nb_view *v = &c->a->view;
	struct nb_group g;

	for (size_t i = nb_view_first(v, "comm/"); nb_group_at(v, i, &g);
	     i = g.end) {
		int64_t newest = 0;
		char prefix[32];

		if (!compare_agents(c, t, &g) || t->ncompare >= MOST_AGENTS)
			continue;
		for (size_t k = g.first; k < g.end; k++)
			if (v->at[k].made > newest)
				newest = v->at[k].made;
		snprintf(prefix, sizeof(prefix), "comm/%s/", g.id);
		nb_coord_txn_compare_prefix(c, t, prefix, newest);
	}
}

void nb_coord_txn_put(struct nb_coord *c, struct nb_coord_txn *t,
		      const char *key, json_t *value, int64_t lease)
{
	char *text = json_dumps(value, JSON_COMPACT);

	json_decref(value);
	t->value[t->nvalue++] = text;
	t->op[t->nop++] = (struct nb_store_op){ .kind = NB_STORE_PUT,
						.key = txn_key(c, t, key),
						.value = text,
						.size = text ? strlen(text) : 0,
						.lease = lease };
}

void nb_coord_txn_delete(struct nb_coord *c, struct nb_coord_txn *t,
			 const char *key)
{
	t->op[t->nop++] = (struct nb_store_op){ .kind = NB_STORE_DELETE,
						.key = txn_key(c, t, key) };
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

bool nb_coord_txn_send(struct nb_coord *c, struct nb_coord_txn *t,
		       nb_store_done_fn *done)
{
	struct nb_store_txn txn = { t->compare, t->ncompare, t->op,
				    t->nop,	NULL,	     0 };
	struct nb_coord_call *call = malloc(sizeof(*call));
	bool fine = call != NULL && !t->full;

	if (t->full)
		nb_agent_log("a change needs more than %d conditions, so it "
			     "cannot be carried out",
			     NB_COORD_OPS);
	for (size_t i = 0; i < t->nkey; i++)
		fine = fine && t->key[i];
	for (size_t i = 0; i < t->nvalue; i++)
		fine = fine && t->value[i];
	if (fine) {
		*call = (struct nb_coord_call){ c, c->round };
		fine = !nb_store_txn(c->a->store, &txn, done, call, NULL);
	}
	if (!fine)
		free(call);
	nb_coord_txn_free(t);
	if (!fine)
		nb_coord_reset(c);
	return fine;
}

struct nb_coord *nb_coord_reply(void *arg, const struct nb_store_reply *r)
{
	struct nb_coord_call *call = arg;
	struct nb_coord *c = call->c;
	bool old = call->round != c->round;

	free(call);
	if (old)
		return NULL;
	if (!r->err && r->succeeded)
		return c;
	if (r->err)
		nb_agent_log(
			"the store did not carry out the coordinator's transaction: %s",
			r->err->text);
	nb_coord_reset(c);
	nb_agent_follow(c->a, true);
	return NULL;
}
