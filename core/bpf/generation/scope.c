// SPDX-License-Identifier: MIT
/*
 * Scopes: which policies of a generation decide for which communicators. Plain
 * data; generation.c makes a view of each scope.
 */
#include "core/bpf/generation/scope.h"

#include <inttypes.h>
#include <string.h>

struct nb_order nb_order_all(uint32_t n)
{
	struct nb_order o = { .n = n };

	for (uint32_t i = 0; i < n; i++)
		o.at[i] = (uint8_t)i;
	return o;
}

bool nb_order_same(const struct nb_order *a, const struct nb_order *b)
{
	return a->n == b->n && !memcmp(a->at, b->at, a->n);
}

bool nb_order_has(const struct nb_order *o, uint32_t policy)
{
	for (uint32_t i = 0; i < o->n; i++)
		if (o->at[i] == policy)
			return true;
	return false;
}

static int scope_index(const struct nb_scope *s, uint64_t comm)
{
	for (uint32_t i = 0; i < s->ncomms; i++)
		if (s->comm[i] == comm)
			return (int)i;
	return -1;
}

int nb_scopes_find(const struct nb_scopes *s, uint64_t comm)
{
	for (uint32_t i = 0; i < s->n; i++)
		if (scope_index(&s->scope[i], comm) >= 0)
			return (int)i;
	return -1;
}

bool nb_scopes_same(const struct nb_scopes *a, const struct nb_scopes *b)
{
	if (a->n != b->n)
		return false;
	for (uint32_t i = 0; i < a->n; i++) {
		const struct nb_scope *x = &a->scope[i], *y = &b->scope[i];

		if (!nb_order_same(&x->order, &y->order) || x->ncomms != y->ncomms ||
		    memcmp(x->comm, y->comm, x->ncomms * sizeof(x->comm[0])) != 0)
			return false;
	}
	return true;
}

void nb_scopes_drop(struct nb_scopes *s, uint64_t comm)
{
	int i = nb_scopes_find(s, comm);
	struct nb_scope *from = &s->scope[i < 0 ? 0 : i];

	if (i < 0)
		return;
	from->ncomms--;
	for (uint32_t at = (uint32_t)scope_index(from, comm); at < from->ncomms; at++)
		from->comm[at] = from->comm[at + 1];
	if (from->ncomms)
		return;
	s->n--;
	memmove(from, from + 1, (s->n - (uint32_t)i) * sizeof(*from));
}

/* Find the scope with @order, or append one; returns NULL if there are too
 * many. */
static struct nb_scope *scope_of_order(struct nb_scopes *s, const struct nb_order *order)
{
	for (uint32_t i = 0; i < s->n; i++)
		if (nb_order_same(&s->scope[i].order, order))
			return &s->scope[i];
	if (s->n == NB_GEN_MAX_SCOPES)
		return NULL;
	s->scope[s->n] = (struct nb_scope){ .order = *order };
	return &s->scope[s->n++];
}

static int fail_scope_limit(struct nb_err *err)
{
	nb_fail(err, NB_E_LIMIT, 0,
		"communicators with policies of their own: "
		"at most %d lists of policies, with %d communicators each, are allowed",
		NB_GEN_MAX_SCOPES, NB_SCOPE_MAX_COMMS);
	return nb_hint(err, "policy list shows the scopes; policy use common comm=ID removes one");
}

int nb_scopes_put(struct nb_scopes *s, const uint64_t *comm, uint32_t n,
		  const struct nb_order *order, struct nb_err *err)
{
	struct nb_scope *to;

	for (uint32_t i = 0; i < n; i++)
		nb_scopes_drop(s, comm[i]);
	to = scope_of_order(s, order);
	if (!to || to->ncomms + n > NB_SCOPE_MAX_COMMS)
		return fail_scope_limit(err);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t at = to->ncomms++;

		/* Identities are sorted, so that equal scopes are equal
		 * bytes. */
		for (; at && to->comm[at - 1] > comm[i]; at--)
			to->comm[at] = to->comm[at - 1];
		to->comm[at] = comm[i];
	}
	return 0;
}

static int check_order(const struct nb_order *o, uint32_t npolicies, struct nb_err *err)
{
	uint32_t seen = 0;

	if (o->n > NB_GEN_MAX_POLICIES)
		return nb_fail(err, NB_E_LIMIT, 0, "an order of %" PRIu32 " policies (allowed: %d)",
			       o->n, NB_GEN_MAX_POLICIES);
	for (uint32_t i = 0; i < o->n; i++) {
		if (o->at[i] >= npolicies || seen >> o->at[i] & 1)
			return nb_fail(
				err, NB_E_ARG, i,
				"entry %" PRIu32
				" of an order is policy %u; allowed: each number below %" PRIu32
				" once",
				i + 1, o->at[i], npolicies);
		seen |= 1u << o->at[i];
	}
	return 0;
}

/* Is communicator @k of scope @i listed only once? */
static int check_comm(const struct nb_scopes *s, uint32_t i, uint32_t k, struct nb_err *err)
{
	const struct nb_scope *c = &s->scope[i];

	if (c->comm[k] && nb_scopes_find(s, c->comm[k]) == (int)i &&
	    scope_index(c, c->comm[k]) == (int)k)
		return 0;
	return nb_fail(err, NB_E_ARG, k,
		       "communicator %016" PRIx64 ": 0 is no identity, and each may be named once",
		       c->comm[k]);
}

int nb_scopes_check(const struct nb_order *common, const struct nb_scopes *s, uint32_t npolicies,
		    struct nb_err *err)
{
	int rc = check_order(common, npolicies, err);

	if (!rc && s->n > NB_GEN_MAX_SCOPES)
		return fail_scope_limit(err);
	for (uint32_t i = 0; !rc && i < s->n; i++) {
		const struct nb_scope *c = &s->scope[i];

		rc = check_order(&c->order, npolicies, err);
		if (!rc && (!c->ncomms || c->ncomms > NB_SCOPE_MAX_COMMS))
			return fail_scope_limit(err);
		for (uint32_t k = 0; !rc && k < c->ncomms; k++)
			rc = check_comm(s, i, k, err);
	}
	return rc;
}

static void add_order(struct nb_sha256 *to, const struct nb_order *o)
{
	nb_sha256_u64(to, o->n);
	nb_sha256_add(to, o->at, o->n);
}

void nb_scopes_digest(struct nb_sha256 *to, const struct nb_order *common,
		      const struct nb_scopes *s)
{
	if (!s->n)
		return;
	nb_sha256_u64(to, s->n);
	add_order(to, common);
	for (uint32_t i = 0; i < s->n; i++) {
		add_order(to, &s->scope[i].order);
		nb_sha256_u64(to, s->scope[i].ncomms);
		for (uint32_t k = 0; k < s->scope[i].ncomms; k++)
			nb_sha256_u64(to, s->scope[i].comm[k]);
	}
}
