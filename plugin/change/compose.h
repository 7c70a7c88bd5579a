// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_CHANGE_COMPOSE_H
#define NB_PLUGIN_CHANGE_COMPOSE_H

#include "core/base/err.h"
#include "core/generation/generation.h"

/* A change of the order of policies. */
enum nb_compose { NB_COMPOSE_ADD, NB_COMPOSE_REMOVE, NB_COMPOSE_MOVE };

/*
 * @name: for ADD, a held policy; else a policy in use
 * @before: goes before this one in use; NULL with @first false: goes last
 */
struct nb_edit {
	enum nb_compose what;
	const char *name;
	const char *before;
	bool first;
};

/*
 * nb_compose_apply - a list of policies with one added, removed or moved
 * @policies: *@n of them, in use
 *
 * Every process of a job has the same baseline, so all get the same list.
 * Policies are borrowed. With NB_LOCK_STATE. 0, NB_E_NOENT (not held, not
 * in use), NB_E_EXISTS (ADD of one in use), NB_E_ARG (before itself),
 * NB_E_LIMIT.
 */
int nb_compose_apply(const struct nb_edit *edit,
		     struct nb_policy *policies[NB_GEN_MAX_POLICIES],
		     uint32_t *n, struct nb_err *err);

#endif
