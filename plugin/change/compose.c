// SPDX-License-Identifier: MIT
/*
 * Edits the order of policies: adds, removes, moves or replaces one policy. The
 * new order is staged like any other change.
 */
#include "plugin/change/compose.h"

#include <string.h>

#include "plugin/policies/held.h"

struct order {
	struct nb_policy **at;
	uint32_t n;
};

static uint32_t order_find(const struct order *o, const struct nb_policy *p)
{
	uint32_t i = 0;

	while (i < o->n && o->at[i] != p)
		i++;
	return i;
}

/*
 * Returns the index of a policy in use, found by name or digest, or o->n if it
 * is not in use.
 */
static uint32_t find_used(const struct order *o, const char *name, struct nb_err *err)
{
	struct nb_held *h;
	uint32_t i;

	/*
	 * compare names first, because a newer policy of that name may be held
	 */
	for (i = 0; i < o->n; i++)
		if (!strcmp(o->at[i]->img->name, name))
			return i;
	h = nb_held_find(name, err);
	if (!h)
		return o->n;
	i = order_find(o, h->policy);
	if (i == o->n) {
		nb_fail(err, NB_E_NOENT, 0, "policy %.64s is not in use", name);
		nb_hint(err, "policy list shows the policies in use, in order");
	}
	return i;
}

static struct nb_policy *order_remove(struct order *o, uint32_t i)
{
	struct nb_policy *p = o->at[i];

	o->n--;
	memmove(&o->at[i], &o->at[i + 1], (o->n - i) * sizeof(struct nb_policy *));
	return p;
}

static int order_insert(struct order *o, const struct nb_edit *edit, struct nb_policy *p,
			struct nb_err *err)
{
	uint32_t i = edit->first ? 0 : o->n;

	if (edit->before) {
		i = find_used(o, edit->before, err);
		if (i == o->n)
			return err->code;
	}
	memmove(&o->at[i + 1], &o->at[i], (o->n - i) * sizeof(struct nb_policy *));
	o->at[i] = p;
	o->n++;
	return 0;
}

static int fail_in_use(const char *name, struct nb_err *err)
{
	nb_fail(err, NB_E_EXISTS, 0, "policy %.64s is in use already", name);
	return nb_hint(err, "policy move %.64s changes its position", name);
}

static int compose_add(struct order *o, const struct nb_edit *edit, struct nb_err *err)
{
	struct nb_held *h = nb_held_find(edit->name, err);

	if (!h)
		return err->code;
	if (order_find(o, h->policy) < o->n)
		return fail_in_use(h->policy->img->name, err);
	if (o->n == NB_GEN_MAX_POLICIES)
		return nb_fail(err, NB_E_LIMIT, 0, "%d policies are in use, which is the limit",
			       NB_GEN_MAX_POLICIES);
	return order_insert(o, edit, h->policy, err);
}

static int compose_move(struct order *o, const struct nb_edit *edit, struct nb_err *err)
{
	uint32_t i = find_used(o, edit->name, err);
	struct nb_policy *p;

	if (i == o->n)
		return err->code;
	if (edit->before && find_used(o, edit->before, NULL) == i)
		return nb_fail(err, NB_E_ARG, 0, "policy %.64s cannot go before itself",
			       edit->name);
	p = order_remove(o, i);
	return edit->what == NB_COMPOSE_REMOVE ? 0 : order_insert(o, edit, p, err);
}

static int compose_replace(struct order *o, const struct nb_edit *edit, struct nb_err *err)
{
	uint32_t i = find_used(o, edit->name, err), other;
	struct nb_held *h;

	if (i == o->n)
		return err->code;
	h = nb_held_find(edit->with, err);
	if (!h)
		return err->code;
	other = order_find(o, h->policy);
	if (other < o->n && other != i)
		return fail_in_use(h->policy->img->name, err);
	o->at[i] = h->policy;
	return 0;
}

int nb_compose_apply(const struct nb_edit *edit, struct nb_policy *policies[NB_GEN_MAX_POLICIES],
		     uint32_t *n, struct nb_err *err)
{
	struct order o = { policies, *n };
	int rc;

	if (edit->what == NB_COMPOSE_ADD)
		rc = compose_add(&o, edit, err);
	else if (edit->what == NB_COMPOSE_REPLACE)
		rc = compose_replace(&o, edit, err);
	else
		rc = compose_move(&o, edit, err);
	*n = o.n;
	return rc;
}
