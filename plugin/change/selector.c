// SPDX-License-Identifier: MIT
/*
 * Changes policies for some communicators. It copies the orders of the baseline
 * (the common order and those of its scopes), changes some of them, and
 * renumbers the policies that any order uses, those of the common order first.
 */
#include "plugin/change/selector.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/job/wire/wire.h"
#include "plugin/change/compose.h"
#include "plugin/comm/comm.h"
#include "plugin/job/segment.h"
#include "plugin/job/self.h"
#include "plugin/policies/generations.h"

static int add_comm(struct nb_selector *r, const char *text, struct nb_err *err)
{
	uint64_t id;
	int rc = nb_wire_id(&id, text, "option comm=", err);

	if (rc)
		return rc;
	if (r->n == NB_SCOPE_MAX_COMMS)
		return nb_fail(err, NB_E_LIMIT, 0, "option comm=: more than %d communicators",
			       NB_SCOPE_MAX_COMMS);
	for (uint32_t i = 0; i < r->n; i++)
		if (r->comm[i] == id)
			return nb_fail(err, NB_E_ARG, 0,
				       "option comm=: communicator %016" PRIx64 " is named twice",
				       id);
	r->comm[r->n++] = id;
	return 0;
}

int nb_selector_parse(struct nb_selector *out, const char *text, struct nb_err *err)
{
	char one[24];
	int rc = 0;

	*out = (struct nb_selector){ .what = NB_SELECT_ALL };
	if (!text)
		return 0;
	out->what = NB_SELECT_OTHERS;
	if (!strcmp(text, "others"))
		return 0;
	out->what = NB_SELECT_SOME;
	for (const char *p = text; !rc && p; p = *p ? p + 1 : NULL) {
		size_t n = strcspn(p, ",");

		snprintf(one, sizeof(one), "%.*s", n < 20 ? (int)n : 20, p);
		rc = add_comm(out, one, err);
		p += n;
	}
	return rc;
}

static bool in_job(const struct nb_segment *s, uint64_t comm)
{
	for (uint32_t i = 0, n = s ? nb_seg_ncomms(s->mem) : 0; i < n; i++) {
		const struct nb_seg_comm *c = &s->mem->comm[i];

		if (__atomic_load_n(&c->in_use, __ATOMIC_ACQUIRE) && c->comm_id == comm)
			return true;
	}
	return false;
}

/* List the job's communicators as text. Returns their number. */
static uint32_t list_comms(const struct nb_segment *s, char *text, size_t size)
{
	uint32_t n = 0;
	size_t at = 0;

	*text = '\0';
	for (uint32_t i = 0; s && i < nb_seg_ncomms(s->mem); i++) {
		const struct nb_seg_comm *c = &s->mem->comm[i];

		if (!__atomic_load_n(&c->in_use, __ATOMIC_ACQUIRE))
			continue;
		if (++n <= 6 && at < size)
			at += (size_t)snprintf(text + at, size - at, "%s%016" PRIx64,
					       n > 1 ? ", " : "", c->comm_id);
	}
	if (n > 6 && at < size)
		snprintf(text + at, size - at, " and %" PRIu32 " more", n - 6);
	return n;
}

static int fail_no_comm(uint64_t comm, struct nb_err *err)
{
	const struct nb_comm *c = nb_comms.first;
	char text[200];

	if (!list_comms(nb_self.seg, text, sizeof(text)) && c && !c->init.has_id)
		return nb_fail(err, NB_E_NOTSUP, 0, "%s; so a change cannot select some of them",
			       c->why);
	nb_fail(err, NB_E_NOENT, 0, "the job has no communicator %016" PRIx64 "%s%s", comm,
		*text ? "; it has " : "", text);
	return nb_hint(err, "comm list shows them");
}

int nb_selector_check(const struct nb_selector *reach, struct nb_err *err)
{
	for (uint32_t i = 0; i < reach->n; i++)
		if (!in_job(nb_self.seg, reach->comm[i]) &&
		    nb_scopes_find(&nb_gens.baseline->scopes, reach->comm[i]) < 0)
			return fail_no_comm(reach->comm[i], err);
	return 0;
}

/*
 * The baseline's lists of policies during an edit. An edit adds at most one
 * full order of new policies.
 */
struct lists {
	struct nb_gen_parent parent;
	struct nb_policy *policy[2 * NB_GEN_MAX_POLICIES];
	uint32_t n;
	struct nb_order common;
	struct nb_scopes scopes;
};

static void lists_open(struct lists *l, const struct nb_gen *g)
{
	*l = (struct lists){
		.parent.gen = g, .n = g->npolicies, .common = g->order, .scopes = g->scopes
	};
	for (uint32_t i = 0; i < g->npolicies; i++)
		l->policy[i] = g->policy[i].policy;
}

static int lists_number(struct lists *l, struct nb_policy *p, uint8_t *out, struct nb_err *err)
{
	uint32_t i = 0;

	while (i < l->n && l->policy[i] != p)
		i++;
	if (i == 2 * NB_GEN_MAX_POLICIES)
		return nb_fail(err, NB_E_LIMIT, 0, "more than %d policies in all lists together",
			       NB_GEN_MAX_POLICIES);
	l->policy[i] = p;
	l->n += i == l->n;
	*out = (uint8_t)i;
	return 0;
}

static int make_order(struct lists *l, struct nb_order *o, struct nb_policy *const *policies,
		      uint32_t n, struct nb_err *err)
{
	int rc = 0;

	o->n = n;
	for (uint32_t i = 0; !rc && i < n; i++)
		rc = lists_number(l, policies[i], &o->at[i], err);
	return rc;
}

static struct nb_order *order_of(struct lists *l, int scope)
{
	return scope < 0 ? &l->common : &l->scopes.scope[scope].order;
}

/* Make a generation with the baseline's policies, in the order of the lists. */
static int lists_close(struct nb_gen **out, struct lists *l, struct nb_err *err)
{
	struct nb_policy *used[NB_GEN_MAX_POLICIES];
	uint8_t to[2 * NB_GEN_MAX_POLICIES] = { 0 };
	uint32_t n = 0, seen = 0;

	for (int s = -1; s < (int)l->scopes.n; s++) {
		struct nb_order *o = order_of(l, s);

		for (uint32_t i = 0; i < o->n; i++) {
			uint8_t from = o->at[i];

			if (!(seen >> from & 1) && n == NB_GEN_MAX_POLICIES)
				return nb_fail(err, NB_E_LIMIT, 0,
					       "more than %d policies in all lists together",
					       NB_GEN_MAX_POLICIES);
			if (!(seen >> from & 1)) {
				used[n] = l->policy[from];
				to[from] = (uint8_t)n++;
			}
			seen |= UINT32_C(1) << from;
			o->at[i] = to[from];
		}
	}
	return nb_gen_scoped(out, used, n, &l->common, &l->scopes, &l->parent, err);
}

int nb_selector_use(struct nb_gen **out, const struct nb_selector *reach,
		    struct nb_policy *const *policies, uint32_t n, struct nb_err *err)
{
	struct nb_order order;
	struct lists l;
	int rc;

	*out = NULL;
	if (reach->what == NB_SELECT_ALL)
		return nb_gen_new(out, policies, n, nb_gens.baseline, err);
	lists_open(&l, nb_gens.baseline);
	rc = make_order(&l, &order, policies, n, err);
	if (!rc && reach->what == NB_SELECT_OTHERS)
		l.common = order;
	else if (!rc)
		rc = nb_scopes_put(&l.scopes, reach->comm, reach->n, &order, err);
	return rc ? rc : lists_close(out, &l, err);
}

/* Remove the selected communicators from their scopes. */
static int drop_some(struct lists *l, const struct nb_selector *reach, struct nb_err *err)
{
	if (reach->what != NB_SELECT_SOME)
		return nb_fail(err, NB_E_ARG, 0, "policy use common must have comm=ID");
	for (uint32_t i = 0; i < reach->n; i++)
		nb_scopes_drop(&l->scopes, reach->comm[i]);
	return 0;
}

/* Let @heir keep the maps of @of, which it replaces. It can keep those of one policy only. */
static int set_heir(struct lists *l, const struct nb_policy *of, const struct nb_policy *heir,
		    struct nb_err *err)
{
	if (l->parent.of && l->parent.of != of) {
		nb_fail(err, NB_E_ARG, 0, "communicators have different policies of the name %s",
			of->img->name);
		return nb_hint(err, "give the digest of one of them, which policy list shows");
	}
	l->parent.heir = heir;
	l->parent.of = of;
	return 0;
}

static int edit_order(struct lists *l, const struct nb_edit *edit, struct nb_order *o,
		      struct nb_err *err)
{
	struct nb_policy *policies[NB_GEN_MAX_POLICIES];
	uint32_t n = o->n;
	int rc;

	for (uint32_t i = 0; i < n; i++)
		policies[i] = l->policy[o->at[i]];
	rc = nb_compose_apply(edit, policies, &n, err);
	for (uint32_t i = 0; !rc && edit->what == NB_COMPOSE_REPLACE && i < n; i++)
		if (policies[i] != l->policy[o->at[i]])
			rc = set_heir(l, l->policy[o->at[i]], policies[i], err);
	return rc ? rc : make_order(l, o, policies, n, err);
}

/*
 * Edit each list of policies that permits the edit. If none does, return the
 * first list's error.
 */
static int edit_all(struct lists *l, const struct nb_edit *edit, struct nb_err *err)
{
	struct nb_err why;
	bool done = false;
	int first = 0;

	for (int s = -1; s < (int)l->scopes.n; s++) {
		int rc = edit_order(l, edit, order_of(l, s), first ? &why : err);

		if (rc && rc != NB_E_NOENT && rc != NB_E_EXISTS) {
			if (first)
				*err = why;
			return rc;
		}
		first = first ? first : rc;
		done |= !rc;
	}
	return done ? 0 : first;
}

/*
 * Edit the list that all selected communicators have in common, and use the
 * result only for them.
 */
static int edit_some(struct lists *l, const struct nb_selector *reach, const struct nb_edit *edit,
		     struct nb_err *err)
{
	int scope = nb_scopes_find(&l->scopes, reach->comm[0]);
	struct nb_order order = *order_of(l, scope);
	int rc;

	for (uint32_t i = 1; i < reach->n; i++)
		if (nb_scopes_find(&l->scopes, reach->comm[i]) != scope)
			return nb_fail(err, NB_E_ARG, 0,
				       "communicators %016" PRIx64 " and %016" PRIx64
				       " have different policies: one at a time, or policy use",
				       reach->comm[0], reach->comm[i]);
	rc = edit_order(l, edit, &order, err);
	return rc ? rc : nb_scopes_put(&l->scopes, reach->comm, reach->n, &order, err);
}

int nb_selector_edit(struct nb_gen **out, const struct nb_selector *reach,
		     const struct nb_edit *edit, struct nb_err *err)
{
	struct lists l;
	int rc;

	*out = NULL;
	lists_open(&l, nb_gens.baseline);
	if (edit->what == NB_COMPOSE_COMMON)
		rc = drop_some(&l, reach, err);
	else if (reach->what == NB_SELECT_ALL)
		rc = edit_all(&l, edit, err);
	else if (reach->what == NB_SELECT_OTHERS)
		rc = edit_order(&l, edit, &l.common, err);
	else
		rc = edit_some(&l, reach, edit, err);
	return rc ? rc : lists_close(out, &l, err);
}
