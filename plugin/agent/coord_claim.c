// SPDX-License-Identifier: MIT
/*
 * The coordinator's role: the key order/coordinator, which an agent holds under
 * its lease. The server for links lasts as long as the role, also when the
 * coordinator writes its key again.
 */
#include <stdlib.h>
#include <string.h>

#include "plugin/agent/coord.h"
#include "plugin/agent/gather.h"

static void claimed(void *arg, const struct nb_store_reply *r)
{
	struct nb_coord_call *call = arg;
	struct nb_coord *c = call->c;
	bool old = call->round != c->round;

	free(call);
	if (old)
		return;
	c->state = NB_COORD_IDLE;
	if (r->err || !r->succeeded) {
		nb_agent_unserve(c->a);
		return;
	}
	c->key_mod = r->revision;
	c->a->own.linked = c->a->gather != NULL;
	nb_agent_log("%s coordinates job %s", c->a->name, c->a->dir.job);
	nb_agent_follow(c->a, true);
}

void nb_agent_serve(struct nb_agent *a)
{
	struct nb_err err = { .code = 0 };

	if (a->gather || !a->serve.listen)
		return;
	if (!nb_gather_open(&a->gather, a->http, &a->view, &a->serve, &err) ||
	    a->told_serve)
		return;
	a->told_serve = true;
	nb_agent_log("other agents cannot link to this agent: %s; "
		     "the store carries orders and answers",
		     err.text);
}

void nb_agent_unserve(struct nb_agent *a)
{
	if (!a->gather)
		return;
	nb_gather_close(a->gather);
	a->gather = NULL;
	a->own.linked = false;
}

static json_t *claim_value(struct nb_coord *c)
{
	json_t *o = json_pack("{s:s}", "site", c->a->name);

	nb_agent_serve(c->a);
	if (!c->a->gather)
		return o;
	json_object_set_new(o, "link",
			    json_string(nb_gather_address(c->a->gather)));
	json_object_set_new(o, "proof",
			    json_string(nb_gather_proof(c->a->gather)));
	json_object_set_new(o, "host", json_string(c->a->host));
	return o;
}

/*
 * Try to become the coordinator. @mod: revision of the key that an earlier
 * agent of our site left; 0 if there is no such key
 */
static void claim(struct nb_coord *c, int64_t mod)
{
	struct nb_coord_txn *t = calloc(1, sizeof(*t));

	if (!t)
		return;
	nb_coord_txn_compare(c, t, "order/coordinator", mod);
	nb_coord_txn_put(c, t, "order/coordinator", claim_value(c),
			 c->a->lease);
	nb_coord_enter(c, NB_COORD_CLAIMING, 0);
	nb_coord_txn_send(c, t, claimed);
}

bool nb_coord_is(struct nb_coord *c)
{
	const struct nb_view_key *k =
		nb_view_get(&c->a->view, "order/coordinator");
	bool ours = k && !strcmp(nb_view_str(k->value, "site"), c->a->name);
	bool none = !k || !*nb_view_str(k->value, "site");

	if (c->state == NB_COORD_CLAIMING)
		return false;
	if (!c->a->lease || (!none && !ours))
		nb_agent_unserve(c->a);
	if (!c->a->lease)
		return false;
	if (none || (ours && k->mod != c->key_mod)) {
		nb_coord_reset(c);
		claim(c, k ? k->mod : 0);
		return false;
	}
	if (ours)
		return c->a->whole;
	if (c->key_mod || c->a->whole) {
		nb_coord_reset(c);
		nb_agent_follow(c->a, false);
	}
	return false;
}
