// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_CHANGE_COMPOSE_H
#define NB_PLUGIN_CHANGE_COMPOSE_H

#include "core/base/err.h"
#include "core/bpf/generation/generation.h"

/*
 * Kinds of changes to the order of policies. COMMON changes no order: the selected communicators
 * no longer have one of their own (nb_selector_edit).
 */
enum nb_compose {
	NB_COMPOSE_ADD,
	NB_COMPOSE_REMOVE,
	NB_COMPOSE_MOVE,
	NB_COMPOSE_REPLACE,
	NB_COMPOSE_COMMON
};

/*
 * A change to the order of policies.
 *
 * @name: for NB_COMPOSE_ADD a held policy, else a policy in use; COMMON needs none
 * @before: insert before this policy in use; NULL: insert at the start if
 *   @first is set, else at the end
 * @with: for NB_COMPOSE_REPLACE the held policy that takes the place of @name
 */
struct nb_edit {
	enum nb_compose what;
	const char *name;
	const char *before;
	const char *with;
	bool first;
};

/*
 * nb_compose_apply - add, remove, move or replace one policy in a list
 * @policies: the *@n policies in use
 *
 * Every process of a job has the same baseline, so all get the same list.
 * Policies are borrowed. The caller holds NB_LOCK_STATE. Returns 0, NB_E_NOENT
 * (the policy is not held or not in use), NB_E_EXISTS (an added policy is in
 * use already, also at another place), NB_E_ARG (a policy goes before itself) or NB_E_LIMIT.
 */
int nb_compose_apply(const struct nb_edit *edit, struct nb_policy *policies[NB_GEN_MAX_POLICIES],
		     uint32_t *n, struct nb_err *err);

#endif
