// SPDX-License-Identifier: MIT
/*
 * The coordinator's role: the key order/coordinator, which an agent holds under
 * its lease.
 */
#include <stdlib.h>
#include <string.h>

#include "plugin/agent/coord.h"

static void claimed(void *arg, const struct nb_store_reply *r)
{
	struct nb_coord_call *call = arg;
	struct nb_coord *c = call->c;
	bool old = call->round != c->round;

	free(call);
	if (old)
		return;
	c->state = NB_COORD_IDLE;
	if (r->err || !r->succeeded)
		return;
	c->key_mod = r->revision;
	nb_agent_log("%s coordinates job %s", c->a->name, c->a->dir.job);
	nb_agent_follow(c->a, true);
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
	nb_coord_txn_put(c, t, "order/coordinator",
			 json_pack("{s:s}", "site", c->a->name), c->a->lease);
	nb_coord_enter(c, NB_COORD_CLAIMING, 0);
	nb_coord_txn_send(c, t, claimed);
}

bool nb_coord_is(struct nb_coord *c)
{
	const struct nb_view_key *k =
		nb_view_get(&c->a->view, "order/coordinator");
	bool ours = k && !strcmp(nb_view_str(k->value, "site"), c->a->name);
	bool none = !k || !*nb_view_str(k->value, "site");

	if (c->state == NB_COORD_CLAIMING || !c->a->lease)
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
